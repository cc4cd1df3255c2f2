package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/check/scan/folder"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
)

var (
	_ deliver.Scanner  = (*scanner.Scanner)(nil)
	_ deliver.Scanner  = scanner.Waiting{}
	_ scanner.Store    = (*folder.Store)(nil)
	_ scanner.Programs = (*verify.Runner)(nil)
	_ scanner.Images   = (*remote.Client)(nil)
)

// scansHere makes an application's drafts run the scans of the control plane in this process, and wait for them. What they find is
// kept in the user's cache folder. That allows every program that the control plane names. Close the scanner.
func (s *appSession) scansHere(t *terminal.Terminal) (*scanner.Scanner, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the folder for what scans found: %w", err)
	}
	records, err := folder.New(filepath.Join(cache, "kalypso", "scans"))
	if err != nil {
		return nil, err
	}
	images, err := remote.NewUserClient(func(name string) string { return t.Env[name] })
	if err != nil {
		return nil, err
	}
	scans := &scanner.Scanner{Store: records, Programs: &verify.Runner{Any: true, Path: t.Env["PATH"]}, Images: images, Signatures: images, Now: t.Now}
	s.drafter.Scanner = scanner.Waiting{Scanner: scans}
	return scans, nil
}

// problemOfScan is what a scan found, or why it could not run, as a problem; ok is false if there is neither.
func problemOfScan(r scan.Result) (p fleet.Problem, ok bool) {
	p = fleet.Problem{Severity: fleet.SeverityNotice, Kind: fleet.ProblemKind(r.Scan), Position: fleet.Position{Source: "rendered"}}
	switch r.Level {
	case check.Refuse:
		p.Severity = fleet.SeverityError
	case check.Warn:
		p.Severity = fleet.SeverityWarning
	}
	switch r.State {
	case scan.Passed:
		return p, false
	case scan.Found:
		p.Message = fmt.Sprintf("%s found something in %s", r.Scan, r.Reference)
	default:
		p.Message = fmt.Sprintf("%s has not looked at %s: %s", r.Scan, r.Reference, r.Reason)
	}
	return p, true
}

// problemScan is that scans are wanted and not run.
const problemScan fleet.ProblemKind = "scan"

// writeScans shows how scans ended, and what programs say that found something or came to no end.
func writeScans(w io.Writer, s terminal.Style, results []scan.Result) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  scans: %s\n", terminal.Printable(scan.Summary(results)))
	for _, r := range results {
		word, paint := string(r.State), s.Dim
		switch {
		case r.State == scan.Found && r.Level == check.Refuse:
			word, paint = string(r.Level), s.Red
		case r.State == scan.Found:
			word, paint = string(r.Level), s.Yellow
		case r.State == scan.Waiting:
			paint = s.Yellow
		}
		line := r.Scan + " of " + r.Reference
		if r.Reason != "" {
			line += ": " + r.Reason
		}
		fmt.Fprintf(w, "  %s  %s\n", paint(word), terminal.Printable(line))
		for said := range strings.Lines(r.Output) {
			fmt.Fprintf(w, "      %s\n", s.Dim(terminal.Printable(strings.TrimRight(said, "\n"))))
		}
	}
}
