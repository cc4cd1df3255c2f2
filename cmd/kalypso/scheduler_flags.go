package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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
	given []serve.SchedulerConfig
	// config is a configuration file of the server.
	config string
}

func (f *schedulerFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(f, "scheduler", "ask the external scheduler or extender `NAME=WHERE`: a program with its arguments, a URL, or a file or folder of PlacementDecisions; may be repeated")
	flags.StringVar(&f.config, "schedulers", "", "a configuration `file` of kalypso serve, for its schedulers")
	_ = cmd.MarkFlagFilename("schedulers") // the error only says that the flag does not exist
}

// String shows what was given.
func (f *schedulerFlags) String() string {
	var all []string
	for i := range f.given {
		all = append(all, f.given[i].Name+"="+whereOf(&f.given[i]))
	}
	return strings.Join(all, ",")
}

// Type names the value in the help.
func (f *schedulerFlags) Type() string { return "NAME=WHERE" }

// whereOf returns the value of the flag for a scheduler, without its name.
func whereOf(s *serve.SchedulerConfig) string {
	switch {
	case s.PlacementDecisions != nil:
		return s.PlacementDecisions.Path
	case s.URL != "":
		return secret.Redact(s.URL)
	}
	return strings.Join(s.Command, " ")
}

// Set adds one scheduler.
func (f *schedulerFlags) Set(value string) error {
	name, where, ok := strings.Cut(value, "=")
	if !ok || strings.TrimSpace(where) == "" {
		return errors.New("want NAME=PROGRAM, NAME=URL or NAME=FOLDER")
	}
	s := serve.SchedulerConfig{Name: name}
	if u, err := url.Parse(where); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		s.URL = where
		f.given = append(f.given, s)
		return serve.CheckSchedulers(f.given)
	}
	if at, found := decisionsAt(where); found {
		s.PlacementDecisions = &serve.PlacementDecisionsConfig{Path: at}
	} else {
		args := strings.Fields(where)
		program, err := verify.Locate(args[0])
		if err != nil {
			return err
		}
		args[0] = program
		s.Command = args
	}
	f.given = append(f.given, s)
	return serve.CheckSchedulers(f.given)
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
	configs, runner := f.given, &verify.Runner{Path: t.Env["PATH"]}
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
	for i := range f.given {
		if f.given[i].Name == name {
			return true
		}
	}
	return false
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
