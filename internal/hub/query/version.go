package query

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Version counts the reconcilers at a version of a workload in one state.
type Version struct {
	ledger.VersionState
	// Wanted means that this version should run there.
	Wanted bool `json:"wanted"`
}

// VersionsQuery selects versions. Empty fields match all.
type VersionsQuery struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only versions in this environment."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Only versions of this workload."`
	Workspace   string    `query:"workspace" maxLength:"253" doc:"Only versions of this workspace."`
	AsOf        time.Time `query:"asOf" doc:"Versions at this time. Default: now."`
	Paging
}

// Versions returns which versions of workloads run, by environment, workload, target, version and state.
func (o *Observer) Versions(ctx context.Context, q VersionsQuery) (Page[Version], error) {
	page := Page[Version]{Items: []Version{}}
	if err := o.knows(q.AsOf); err != nil {
		return page, err
	}
	if q.Environment != "" {
		if _, err := o.environment(ctx, "", q.Environment, q.AsOf); err != nil {
			return page, err
		}
	}
	states, err := o.Ledger.Versions(ctx, ledger.VersionQuery{Environment: q.Environment, Workload: q.Workload, Workspace: q.Workspace, AsOf: q.AsOf})
	if err != nil {
		return page, err
	}
	wanted, err := o.Ledger.Wanted(ctx, ledger.WantedQuery{Environment: q.Environment, Workload: q.Workload, Workspace: q.Workspace, AsOf: q.AsOf})
	if err != nil {
		return page, err
	}
	should := map[string]bool{}
	for _, w := range wanted.Versions {
		should[versionKey(w.Version)] = true
	}
	all := make([]Version, len(states))
	for i, s := range states {
		all[i] = Version{VersionState: s, Wanted: should[versionKey(s.Version)]}
		all[i].Since, all[i].Built = utc(s.Since), utc(s.Built)
	}
	if len(all) == 0 && q.Workload != "" && !slices.ContainsFunc(wanted.Versions, func(w ledger.WantedVersion) bool { return w.Workload == q.Workload }) {
		return page, o.noVersions(ctx, q.Workload)
	}
	return cut(all, q.Paging, func(v *Version) string {
		return key(versionKey(v.VersionState.Version), strconv.Itoa(v.State.Severity()))
	})
}

// noVersions returns an error if a workload without versions is unknown.
func (o *Observer) noVersions(ctx context.Context, workload string) error {
	names, err := o.Ledger.Names(ctx, ledger.NameWorkload)
	if err != nil || slices.Contains(names, workload) {
		return err
	}
	return o.unknownWorkload(ctx, workload)
}

// versionKey returns a unique sort key.
func versionKey(v ledger.Version) string {
	return names(v.Environment, v.Workload, v.Target, v.Version, v.Build, v.Commit, v.Path, v.Workspace, strconv.FormatInt(v.Built.UnixMicro(), 10))
}
