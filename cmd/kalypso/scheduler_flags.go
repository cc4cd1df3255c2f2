package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// schedulerFlags say which external schedulers a command may ask. Without them it uses recorded answers.
type schedulerFlags struct {
	given []namedScheduler
	// config is a configuration file of the server.
	config string
}

// namedScheduler is a value of --scheduler: a name, and a program with its arguments, a URL, or a path.
type namedScheduler struct{ name, where string }

func (n namedScheduler) String() string { return n.name + "=" + secret.Redact(n.where) }

func (f *schedulerFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(f, "scheduler", "ask the external scheduler or extender `NAME=WHERE`: a program with its arguments, a URL, or a file or folder of PlacementDecisions; may be repeated")
	flags.StringVar(&f.config, "schedulers", "", "a configuration `file` of kalypso serve, for its schedulers")
	cli.FlagGroup(cmd, cli.GroupScheduler, "scheduler", "schedulers")
	_ = cmd.MarkFlagFilename("schedulers") // the error only says that the flag does not exist
}

// String shows what was given.
func (f *schedulerFlags) String() string {
	var all []string
	for _, g := range f.given {
		all = append(all, g.String())
	}
	return strings.Join(all, ",")
}

// Type names the value in the help.
func (f *schedulerFlags) Type() string { return "NAME=WHERE" }

// Set adds one scheduler.
func (f *schedulerFlags) Set(value string) error {
	name, where, ok := strings.Cut(value, "=")
	if !ok || strings.TrimSpace(where) == "" {
		return errors.New("want NAME=PROGRAM, NAME=URL or NAME=FOLDER")
	}
	f.given = append(f.given, namedScheduler{name, where})
	return nil
}

// config returns the scheduler as in a configuration file.
func (n namedScheduler) config() (serve.SchedulerConfig, error) {
	s := serve.SchedulerConfig{Name: n.name}
	if u, err := url.Parse(n.where); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		s.URL = n.where
		return s, nil
	}
	if at, found := decisionsAt(n.where); found {
		s.PlacementDecisions = &serve.PlacementDecisionsConfig{Path: at}
		return s, nil
	}
	args := strings.Fields(n.where)
	program, err := verify.Locate(args[0])
	s.Command = append([]string{program}, args[1:]...)
	return s, err
}

// decisionsAt returns the absolute path of a folder, or of a YAML or JSON file.
func decisionsAt(where string) (string, bool) {
	info, err := os.Stat(where)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(filepath.Ext(where)) {
	case ".yaml", ".yml", ".json":
	default:
		if !info.IsDir() {
			return "", false
		}
	}
	at, err := filepath.Abs(where)
	return at, err == nil
}

// asker returns what asks the schedulers.
func (f *schedulerFlags) asker(t *terminal.Terminal, repositories schedule.Repositories) (*external.Asker, error) {
	var configs []serve.SchedulerConfig
	for _, g := range f.given {
		s, err := g.config()
		if err != nil {
			return nil, fmt.Errorf("scheduler %q: %w", g.name, err)
		}
		configs = append(configs, s)
	}
	if err := serve.CheckSchedulers(configs); err != nil {
		return nil, fmt.Errorf("--scheduler: %w", err)
	}
	runner := &verify.Runner{Path: t.Env["PATH"]}
	if f.config != "" {
		config, err := readServeConfig(f.config)
		if err != nil {
			return nil, err
		}
		// A flag counts more than the file.
		for i := range config.Schedulers {
			if !f.has(config.Schedulers[i].Name) {
				configs = append(configs, config.Schedulers[i])
			}
		}
		runner.Hosts = config.Verify.Hosts
	}
	asker, err := wiring.NewSchedulers(configs, repositories, runner, t.Env)
	if err != nil {
		return nil, cli.Failed(err, "docs/how-to/write-a-scheduler.md tells how schedulers are configured")
	}
	return asker, nil
}

func (f *schedulerFlags) has(name string) bool {
	return slices.ContainsFunc(f.given, func(g namedScheduler) bool { return g.name == name })
}

// readServeConfig reads a configuration file of the server for its forges and schedulers.
func readServeConfig(file string) (*serve.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	config, err := serve.ParseConfig(text, nil)
	if err == nil {
		err = errors.Join(config.CheckForges(), serve.CheckSchedulers(config.Schedulers))
	}
	if err != nil {
		return nil, cli.Failed(fmt.Errorf("the configuration is wrong: %w", err), "docs/schemas/serve.json describes it")
	}
	return config, nil
}
