package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// writeSavedPlan writes a plan to a file, all of it or nothing.
func writeSavedPlan(file string, saved *schedule.SavedPlan) error {
	var text bytes.Buffer
	if err := cli.WriteJSON(&text, saved); err != nil {
		return err
	}
	if text.Len() > schedule.MaxSavedPlan {
		return fmt.Errorf("the plan has %d MiB; a file of one has up to %d", text.Len()>>20, schedule.MaxSavedPlan>>20)
	}
	if err := replaceable(file); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	if err := agent.WriteFile(file, text.Bytes()); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}

// replaceable returns an error if a path is that of something other than a file. Root can replace a device by renaming a file to it.
func replaceable(file string) error {
	if is, err := os.Stat(file); err == nil && !is.Mode().IsRegular() {
		return cli.Failed(fmt.Errorf("%q is not a file", file), "name a file with --out")
	}
	return nil
}

// readSavedPlan reads the file of --plan.
func readSavedPlan(file string) (*schedule.SavedPlan, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	saved, err := schedule.ReadSavedPlan(f)
	if err != nil {
		return nil, cli.Failed(fmt.Errorf("read the plan %q: %w", file, err), "make another one with kalypso plan --out FILE")
	}
	return saved, nil
}

// carriesOut returns an error if a draft is not what the saved plan says. Without a plan, every draft is.
func (c *scheduleCommand) carriesOut(d *schedule.Draft) error {
	if c.saved == nil {
		return nil
	}
	err := c.saved.Check(d)
	if err == nil {
		return nil
	}
	if version := cli.Version(); c.saved.Kalypso != version {
		err = fmt.Errorf("%w\n  it was made by kalypso %q, and this is %q", err, secret.Redact(c.saved.Kalypso), version)
	}
	return &cli.Failure{Code: cli.ExitNo, Err: fmt.Errorf("nothing was written: %w", err), Next: "look at a new plan: kalypso plan " + c.source.args() + " --out FILE"}
}
