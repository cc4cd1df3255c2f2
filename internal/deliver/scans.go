package deliver

import (
	"cmp"
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// StatusScan is the commit status for scans of images and charts. Only pull
// requests that need scans, or needed them before, have it.
const StatusScan = "kalypso/scan"

// Scanner scans images and charts.
type Scanner interface {
	// Results returns the result of each scan for each artifact that it applies to, most important first.
	Results(ctx context.Context, scans []check.Scan, artifacts []scan.Artifact) []scan.Result
}

// noScanner is for programs that do not run scans. It reports all of them as waiting.
type noScanner struct{}

// Results implements [Scanner].
func (noScanner) Results(_ context.Context, scans []check.Scan, artifacts []scan.Artifact) []scan.Result {
	var results []scan.Result
	for _, a := range artifacts {
		for _, s := range scans {
			if s.What == a.What {
				results = append(results, scan.ResultOf(s, a, scan.Waiting, "scans are not run here"))
			}
		}
	}
	scan.Sort(results)
	return results
}

// scan sets the results of the scans of what changes. Published content was scanned when it was added.
func (d *Drafter) scan(ctx context.Context, draft *Draft, scans []check.Scan) {
	if draft.Scanned = len(scans) > 0; !draft.Scanned {
		return
	}
	artifacts := draft.artifacts()
	if len(artifacts) > 0 {
		d.Loader.progress("scanning %d images and charts", len(artifacts))
	}
	scanner := d.Scanner
	if scanner == nil {
		scanner = noScanner{}
	}
	draft.Scans = scanner.Results(ctx, scans, artifacts)
}

// artifacts returns the distinct images and charts of the targets that change.
func (d *Draft) artifacts() []scan.Artifact {
	charts := map[string]scan.Artifact{} // by target
	for i, result := range d.results {
		p := d.work.parts[i]
		if p.origin.Digest == "" {
			continue
		}
		for _, r := range result.Targets {
			charts[r.Name] = scan.Chart(p.origin.Name, p.origin.Version, p.origin.Digest, p.job.Files)
		}
	}
	var all []scan.Artifact
	known := map[[2]string]int{} // by reference and digest; images have none
	add := func(a scan.Artifact, target string) {
		i, ok := known[[2]string{a.Reference, a.Digest}]
		if !ok {
			i = len(all)
			all, known[[2]string{a.Reference, a.Digest}] = append(all, a), i
		}
		all[i].Targets = append(all[i].Targets, target)
	}
	for _, t := range d.Plan.Targets { // by name
		if t.Op != plan.Added && t.Op != plan.Changed {
			continue
		}
		if chart, ok := charts[t.Name]; ok {
			add(chart, t.Name)
		}
		for _, image := range t.Images {
			add(scan.Artifact{What: check.Images, Reference: image}, t.Name)
		}
	}
	slices.SortStableFunc(all, func(a, b scan.Artifact) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.Digest, b.Digest))
	})
	return all
}

func scanStatus(d *Draft) forge.Status {
	s := forge.Status{Context: StatusScan, State: forge.Pending, Description: scan.Describe(d.Scans)}
	switch scan.Combine(d.Scans) {
	case scan.Passed:
		s.State = forge.Success
	case scan.Found:
		s.State = forge.Failure
	}
	return s
}

// scanStatuses returns the status of the scans if there are or were any. A status that was pending must be completed.
func (r *round) scanStatuses() []forge.Status {
	was := r.pull.Published()
	state, had := was.Statuses[StatusScan]
	switch d := r.outcome.Draft; {
	case !d.Scanned && !had:
		return nil
	case r.Policies == nil: // set earlier by a program that knew the required scans, such as a server
		if was.Digest != d.digest() {
			state = forge.Pending
		}
		return []forge.Status{{Context: StatusScan, State: state, Description: "the required scans are unknown, because no control plane was given"}}
	default:
		return []forge.Status{scanStatus(d)}
	}
}
