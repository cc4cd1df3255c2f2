package rendering

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/e2e/tools"
)

// helm is the helm command.
type helm struct{ path, home string }

func buildHelm(b *testing.B) *helm {
	b.Helper()
	path, err := tools.Helm(b.Context(), filepath.Join("..", "tools"), func(what string) { b.Log(what) })
	must(b, err)
	return &helm{path, b.TempDir()}
}

// all renders all targets of an application, some at a time, and returns the processor time.
func (h *helm) all(ctx context.Context, a application, tag string, atOnce int) (time.Duration, error) {
	took, failed := make([]time.Duration, targets), make([]error, targets)
	var wait sync.WaitGroup
	for first := range atOnce {
		wait.Go(func() {
			for i := first; i < targets; i += atOnce {
				_, took[i], failed[i] = h.template(ctx, a, target(i), tag)
			}
		})
	}
	wait.Wait()
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	return sum, errors.Join(failed...)
}

// template renders one target.
func (h *helm) template(ctx context.Context, a application, target, tag string) ([]byte, time.Duration, error) {
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, h.path, "template", "shop", filepath.Join(a.source, "helm"), //nolint:gosec // it was built from its sources
		"--values", filepath.Join(a.config, "values.yaml"), "--values", filepath.Join(a.config, target, "values.yaml"),
		"--set-string", "image.tag="+tag)
	cmd.Stdout, cmd.Stderr = &out, &problems
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", cmd, err, &problems)
	}
	return out.Bytes(), harness.ProcessorTime(cmd), nil
}
