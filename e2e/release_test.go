package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/e2e/tools"
)

// TestRelease: two people build the release of a commit and get the same files. Helm installs the chart on a real API server. The server's configuration in
// the cluster is accepted by the program in the image, and the agent in the image reports with the rights that the chart gives it.
func TestRelease(t *testing.T) {
	t.Parallel()
	dist := buildReleases(t)
	images := t.TempDir()
	for _, program := range []string{"kalypso", "kalypso-agent"} {
		unpackImage(t, one(t, dist, program+"-image_*.tar"), images)
	}
	f := newFleet(t, "release")
	f.borrow(t)
	s := f.serve(t)
	c := stack.Clusters[drone]
	credential := filepath.Join(t.TempDir(), "token")
	s.ask(t, 0, "cluster", "register", drone, "--credential", credential, "--member", "dev/"+drone)

	helm, err := tools.Helm(t.Context(), "tools", func(what string) { t.Log(what) })
	must(t, err)
	const namespace = "kalypso-release"
	values := map[string]any{
		"server": map[string]any{
			"config":  map[string]any{"controlPlanes": []string{"https://git.example/acme/control-plane"}, "url": "https://kalypso.example"},
			"ingress": map[string]any{"enabled": true, "host": "kalypso.example"},
		},
		"agent": map[string]any{"enabled": true, "server": s.url, "cluster": drone},
	}
	text, err := json.Marshal(values)
	must(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, text, 0o600))
	run := func(args ...string) string {
		t.Helper()
		return output(t, "", helm, append(args, "--kubeconfig", c.Kubeconfig(), "--namespace", namespace)...)
	}
	chart := one(t, dist, "kalypso-chart_*.tgz")
	must(t, c.Apply(t.Context(), harness.Namespace(namespace)))
	// Nothing here removes a claim's finalizer, so that the API server only validates it.
	run("install", "release", chart, "--values", file, "--dry-run=server")
	run("install", "release", chart, "--values", file, "--set", "server.persistence.enabled=false")
	t.Cleanup(func() { must(t, c.Delete(context.Background(), harness.Namespace(namespace))) })
	objects, err := harness.Documents(run("get", "manifest", "release"))
	must(t, err)

	t.Run("the program in the image accepts the configuration", func(t *testing.T) {
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ConfigMap" })
		config, _, err := unstructured.NestedString(objects[i].Object, "data", "kalypso.yaml")
		must(t, err)
		file := filepath.Join(t.TempDir(), "kalypso.yaml")
		must(t, os.WriteFile(file, []byte(config), 0o600))
		output(t, "", filepath.Join(images, "kalypso"), "serve", "--config", file, "--check-config")
	})
	t.Run("the agent in the image reports", func(t *testing.T) {
		const account = "release-kalypso-agent"
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" && o.GetName() == account })
		folder := t.TempDir()
		token, err := os.ReadFile(credential)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(folder, "token"), token, 0o600))
		as, err := c.As(t.Context(), namespace, account)
		must(t, err)
		a := &agent{cluster: as, credential: credential}
		a.wantReadOnly(t)
		args := append(containerArgs(t, objects[i:i+1], folder), "--kubeconfig", as.Kubeconfig(), "--interval", "2s")
		a.Process, err = kalypso.At(images).Agent().With("GOMEMLIMIT=64MiB").Start("released-agent", args...)
		must(t, err)
		t.Cleanup(func() { must(t, a.Stop(context.Background())) })
		eventually(t, "the server hears of the cluster", func(context.Context) error {
			if out := s.ask(t, 0, "cluster", "list"); strings.Contains(out, "never") || !strings.Contains(out, drone) {
				return errors.New(out)
			}
			return nil
		})
	})
	run("uninstall", "release")
}

// buildReleases builds the release of the current commit in two clones, and wants the same files. It returns one of the folders.
func buildReleases(t *testing.T) string {
	t.Helper()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	var folders []string
	for range 2 {
		clone := filepath.Join(t.TempDir(), "clone")
		output(t, "", "git", "clone", "-q", "..", clone)
		dist := filepath.Join(t.TempDir(), "dist")
		output(t, filepath.Join(clone, "tools", "release"), "go", "run", ".", "--root", clone, "--out", dist, "--platforms", platform)
		folders = append(folders, dist)
	}
	first, err := os.ReadFile(filepath.Join(folders[0], "checksums.txt"))
	must(t, err)
	second, err := os.ReadFile(filepath.Join(folders[1], "checksums.txt"))
	must(t, err)
	if string(first) != string(second) {
		t.Errorf("one build has\n%s\nthe other has\n%s", first, second)
	}
	return folders[0]
}

// output runs a program to its end, and returns what it printed.
func output(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = folder
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, &complaints)
	}
	return string(out)
}

// one returns the one file of a folder that a pattern matches.
func one(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s: %q", pattern, found)
	}
	return found[0]
}

// unpackImage writes the program of an image archive for this machine into a folder: it is the only file of its layer.
func unpackImage(t *testing.T, archive, folder string) {
	t.Helper()
	f, err := os.Open(archive)
	must(t, err)
	defer f.Close()
	program, _, _ := strings.Cut(filepath.Base(archive), "-image_")
	found := false
	for r := tar.NewReader(f); ; {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(r)
		if err != nil {
			continue // not a layer
		}
		layer := tar.NewReader(z)
		header, err := layer.Next()
		if err != nil || header.Name != program {
			continue
		}
		content, err := io.ReadAll(layer)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(folder, program), content, os.FileMode(header.Mode))) //nolint:gosec // a program
		found = true
	}
	if !found {
		t.Fatalf("%s has no program %s", archive, program)
	}
}
