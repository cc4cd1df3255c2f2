package wiring

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var (
	_ external.Programs  = (*verify.Runner)(nil)
	_ external.Endpoints = (*verify.Runner)(nil)
)

// maxDecisionBytes limits the PlacementDecisions of a scheduler.
const maxDecisionBytes = 32 << 20

// NewSchedulers returns an asker of the schedulers that the operator configured.
func NewSchedulers(configs []serve.SchedulerConfig, repositories schedule.Repositories, runner *verify.Runner, env map[string]string) (*external.Asker, error) {
	asker := &external.Asker{Schedulers: map[string]external.Configured{}}
	var problems []error
	for i := range configs {
		c := &configs[i]
		s, err := newScheduler(c, repositories, runner, env)
		if err != nil {
			problems = append(problems, fmt.Errorf("scheduler %q: %w", c.Name, err))
			continue
		}
		if c.Facts != "" {
			s = &external.WithFacts{Scheduler: s, Read: func(context.Context) ([]byte, error) { return readFile(c.Facts, external.MaxFacts) }}
		}
		asker.Schedulers[c.Name] = external.Configured{Scheduler: s, Timeout: c.Timeout.Duration}
	}
	return asker, errors.Join(problems...)
}

func newScheduler(c *serve.SchedulerConfig, repositories schedule.Repositories, runner *verify.Runner, env map[string]string) (external.Scheduler, error) {
	switch {
	case c.Command != nil:
		return &external.Program{Programs: runner, Args: c.Command}, nil
	case c.PlacementDecisions != nil:
		d := c.PlacementDecisions
		read := func(ctx context.Context) ([][]byte, error) { return readDecisions(ctx, d, repositories, runner) }
		return &external.PlacementDecisions{Read: read, Namespace: d.Namespace}, nil
	}
	h := &external.HTTP{Endpoints: runner, URL: c.URL}
	if c.TokenEnv != "" {
		if env[c.TokenEnv] == "" {
			return nil, fmt.Errorf("the environment variable %s is empty", c.TokenEnv)
		}
		h.Token = secret.New(env[c.TokenEnv])
	}
	return h, nil
}

// readDecisions reads the files with PlacementDecisions.
func readDecisions(ctx context.Context, d *serve.PlacementDecisionsConfig, repositories schedule.Repositories, runner *verify.Runner) ([][]byte, error) {
	if d.Command != nil {
		text, err := runner.Exchange(ctx, d.Command, nil, maxDecisionBytes)
		return [][]byte{text}, err
	}
	at := schedule.Location{Repo: d.Repo, Branch: d.Branch, Path: d.Path}
	if d.Repo == "" {
		info, err := os.Stat(d.Path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			text, err := readFile(d.Path, maxDecisionBytes)
			return [][]byte{text}, err
		}
		at = schedule.Location{Folder: d.Path}
	}
	source, err := repositories.Source(ctx, at)
	if err != nil {
		return nil, err
	}
	var files [][]byte
	size := int64(0)
	for _, f := range source.Files {
		if f.Symlink {
			continue
		}
		if size += f.Size; size > maxDecisionBytes {
			return nil, fmt.Errorf("the PlacementDecisions have more than %d bytes", maxDecisionBytes)
		}
		text, err := f.Read()
		if err != nil {
			return nil, err
		}
		files = append(files, text)
	}
	return files, nil
}

func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return os.ReadFile(path)
}
