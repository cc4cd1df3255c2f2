package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// completionTimeout is how long a shell waits for names at most. Tests wait longer: they would fail because a machine is slow.
var completionTimeout = time.Second

// complete turns a list of names into a completion. What cannot be read has no names: a shell has no place for errors.
func complete(list func(ctx context.Context, cmd *cobra.Command, args []string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		names, err := within(ctx, func() ([]string, error) { return list(ctx, cmd, args) })
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var matching []cobra.Completion
		for _, name := range names {
			if slices.Contains(args, name) {
				continue
			}
			// A terminal would interpret control characters, and a line break would be another name. A description follows a tab.
			if strings.HasPrefix(name, word) && terminal.Printable(name) == strings.Replace(name, "\t", `\t`, 1) {
				matching = append(matching, name)
			}
		}
		return matching, cobra.ShellCompDirectiveNoFileComp
	}
}

// within returns the result of do, or the error of a context that ends before. What do does then ends with the process.
func within(ctx context.Context, do func() ([]string, error)) ([]string, error) {
	type result struct {
		names []string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		names, err := do()
		done <- result{names, err}
	}()
	select {
	case r := <-done:
		return r.names, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// completeFlag completes the value of a flag.
func completeFlag(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(fmt.Sprintf("complete --%s of %s: %v", flag, cmd.CommandPath(), err)) // the flag does not exist
	}
}

// completeEnvironments completes with the environments of the control plane.
func (f *sourceFlags) completeEnvironments(t *terminal.Terminal) cobra.CompletionFunc {
	return complete(func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		session, err := f.open(ctx, quiet(t))
		if err != nil {
			return nil, err
		}
		defer session.close()
		names, _, err := session.drafter.Loader.Environments(ctx, session.request)
		return names, err
	})
}

// completePairs completes a deployment target, and then a cluster type.
func (f *sourceFlags) completePairs(t *terminal.Terminal) cobra.CompletionFunc {
	return complete(func(ctx context.Context, _ *cobra.Command, args []string) (names []string, err error) {
		if f.environment == "" || len(args) > 1 {
			return nil, nil
		}
		session, err := f.open(ctx, quiet(t))
		if err != nil {
			return nil, err
		}
		defer session.close()
		session.drafter.Schedulers = nil // completing a word runs no programs
		draft, err := session.drafter.Draft(ctx, schedule.DraftRequest{Request: session.request, Unpublished: true})
		if err != nil {
			return nil, err
		}
		snapshot := draft.Bundle.Snapshot
		if len(args) == 1 {
			for _, clusterType := range snapshot.ClusterTypes {
				names = append(names, clusterType.Name)
			}
			return names, nil
		}
		for _, target := range snapshot.Targets {
			names = append(names, target.Workload+"/"+target.ShortName)
		}
		return names, nil
	})
}

// completeClusters completes with the Cluster objects of the environment.
func (f *sourceFlags) completeClusters(t *terminal.Terminal) cobra.CompletionFunc {
	return complete(func(ctx context.Context, _ *cobra.Command, _ []string) (names []string, err error) {
		if f.environment == "" {
			return nil, nil
		}
		session, err := f.open(ctx, quiet(t))
		if err != nil {
			return nil, err
		}
		defer session.close()
		loaded, err := session.drafter.Loader.Load(ctx, session.request)
		if err != nil {
			return nil, err
		}
		for _, cluster := range loaded.Snapshot.Clusters {
			names = append(names, cluster.Name)
		}
		return names, nil
	})
}

// quiet returns a terminal that prints nothing: the output of a completion belongs to the shell.
func quiet(t *terminal.Terminal) *terminal.Terminal {
	q := *t
	q.Out, q.Err = io.Discard, io.Discard
	return &q
}

// completeFleet completes with names that a server or a ledger knows.
func completeFleet(flags *backend.Flags, t *terminal.Terminal, list func(context.Context, *backend.Fleet) ([]string, error)) cobra.CompletionFunc {
	return completeFleetWith(flags, t, func(ctx context.Context, f *backend.Fleet, _ []string) ([]string, error) { return list(ctx, f) })
}

// completeFleetWith is [completeFleet] with a list that depends on the arguments.
func completeFleetWith(flags *backend.Flags, t *terminal.Terminal, list func(context.Context, *backend.Fleet, []string) ([]string, error)) cobra.CompletionFunc {
	return complete(func(ctx context.Context, cmd *cobra.Command, args []string) ([]string, error) {
		cmd.SetContext(ctx)
		fleet, err := flags.Open(cmd, quiet(t))
		if err != nil {
			return nil, err
		}
		defer fleet.Close() //nolint:errcheck // it was only read
		return list(ctx, fleet, args)
	})
}

// manyNames is the longest list that a shell is offered.
var manyNames = query.Paging{Limit: 1000}

func environmentNames(ctx context.Context, f *backend.Fleet) (names []string, err error) {
	page, err := f.Environments(ctx, query.EnvironmentsQuery{Paging: manyNames})
	for i := range page.Items {
		names = append(names, page.Items[i].Name)
	}
	return names, err
}

// placeNames are the names of environments, and of their rings.
func placeNames(ctx context.Context, f *backend.Fleet) (names []string, err error) {
	page, err := f.Environments(ctx, query.EnvironmentsQuery{Paging: manyNames})
	for i := range page.Items {
		names = append(names, page.Items[i].Name)
		for _, r := range page.Items[i].Rings {
			names = append(names, decide.RingName(page.Items[i].Name, r.Name))
		}
	}
	return names, err
}

// ringNames are the names of the rings of an environment.
func ringNames(environment *string) func(context.Context, *backend.Fleet) ([]string, error) {
	return func(ctx context.Context, f *backend.Fleet) (names []string, err error) {
		page, err := f.Environments(ctx, query.EnvironmentsQuery{Paging: manyNames})
		for i := range page.Items {
			for _, r := range page.Items[i].Rings {
				if page.Items[i].Name == *environment {
					names = append(names, r.Name)
				}
			}
		}
		return names, err
	}
}

// commitNames are the commits that environments run, and those that are promoted next, in short with the first line of their messages.
func commitNames(ctx context.Context, f *backend.Fleet) (names []string, err error) {
	page, err := f.Environments(ctx, query.EnvironmentsQuery{Paging: manyNames})
	add := func(commit, about string) {
		if commit = terminal.Short(commit); commit != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, commit) }) {
			names = append(names, cobra.CompletionWithDesc(commit, terminal.Printable(about)))
		}
	}
	for i := range page.Items {
		e := &page.Items[i]
		add(e.Commit, strings.TrimSpace("runs in "+e.Name+"  "+e.Title))
	}
	for i := range page.Items {
		add(page.Items[i].Candidate, "is next in "+page.Items[i].Name)
	}
	return names, err
}

// goodTargets are the commits that an environment or ring can go back to, in short with how long they ran.
func goodTargets(ctx context.Context, f *backend.Fleet, place string) ([]string, error) {
	targets, err := rollbackTargets(ctx, f, "", place)
	var names []string
	for _, t := range targets {
		if t.Good {
			names = append(names, cobra.CompletionWithDesc(terminal.Short(t.Commit), terminal.Printable(t.Why)))
		}
	}
	return names, err
}

// completeCommits completes with commits of main that were merged last.
func (f *sourceFlags) completeCommits(t *terminal.Terminal) cobra.CompletionFunc {
	const newest = 50
	return complete(func(ctx context.Context, _ *cobra.Command, _ []string) (names []string, err error) {
		session, err := f.open(ctx, quiet(t))
		if err != nil {
			return nil, err
		}
		defer session.close()
		repo, err := session.client.Open(ctx, session.request.ControlPlane)
		if err != nil {
			return nil, err
		}
		head, err := repo.Resolve(ctx, schedule.DefaultBase, "")
		if err != nil {
			return nil, err
		}
		commits, _, err := repo.History(ctx, head, nil, newest)
		for _, c := range commits {
			title, _, _ := strings.Cut(c.Message, "\n")
			names = append(names, cobra.CompletionWithDesc(terminal.Short(c.Hash), terminal.Printable(title)))
		}
		return names, err
	})
}

func clusterNames(ctx context.Context, f *backend.Fleet) (names []string, err error) {
	page, err := f.Clusters(ctx, query.ClustersQuery{Paging: manyNames})
	for i := range page.Items {
		names = append(names, page.Items[i].Name)
	}
	return names, err
}

// workloadNames are the workloads with targets, sorted.
func workloadNames(ctx context.Context, f *backend.Fleet) (names []string, err error) {
	page, err := f.Targets(ctx, query.TargetsQuery{Paging: manyNames})
	for i := range page.Items {
		if page.Items[i].Workload != "" {
			names = append(names, page.Items[i].Workload)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

func applicationNames(ctx context.Context, f *backend.Fleet) (names []string, err error) {
	page, err := f.Applications(ctx, query.ApplicationsQuery{Paging: manyNames})
	for i := range page.Items {
		names = append(names, page.Items[i].Name)
	}
	return names, err
}

// completeFirst completes only the first argument.
func completeFirst(with cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return with(cmd, args, word)
	}
}

// targetNames are the names of targets in the fleet, of a workload in an environment; empty for all.
func targetNames(ctx context.Context, f *backend.Fleet, workload, environment string) (names []string, err error) {
	page, err := f.Targets(ctx, query.TargetsQuery{Workload: workload, Environment: environment, Paging: manyNames})
	for i := range page.Items {
		names = append(names, page.Items[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// completeTargets completes with the targets of the application in the environment: with their names in the Workload or, if place
// names a server, with those in the fleet. place may be nil.
func (f *appFlags) completeTargets(place *backend.Flags, t *terminal.Terminal) cobra.CompletionFunc {
	source := complete(func(ctx context.Context, _ *cobra.Command, _ []string) (names []string, err error) {
		s, err := f.open(ctx, quiet(t))
		if err != nil {
			return nil, err
		}
		defer s.close()
		a, err := s.drafter.Loader.Application(ctx, s.request, "")
		if err != nil {
			return nil, err
		}
		for _, target := range a.Workload.Spec.DeploymentTargets {
			if f.environment == "" || target.Environment == f.environment {
				names = append(names, target.Name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names), nil
	})
	if place == nil {
		return source
	}
	server := completeFleet(place, t, func(ctx context.Context, fleet *backend.Fleet) ([]string, error) {
		return targetNames(ctx, fleet, f.workload, f.environment)
	})
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if place.Server != "" {
			return server(cmd, args, word)
		}
		return source(cmd, args, word)
	}
}
