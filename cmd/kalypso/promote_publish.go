package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// publishMerged publishes the merged commit of each environment, unless it is the environment's published version already. It records in the
// result what was published, and why something was not.
func (c *appPromoteCommand) publishMerged(ctx context.Context, s *appSession, found *deliver.Delivered, to registry.Reference, release registry.Release, r *appPromoted) {
	for _, environment := range slices.Sorted(maps.Keys(found.Environments)) {
		o := found.Environments[environment]
		if o == nil || o.GitOps == nil || o.GitOps.Commit == "" || o.GitOps.Build.Commit == "" {
			continue
		}
		said, err := c.publishEnvironment(ctx, s, environment, o.GitOps.Commit, to, release)
		if err != nil {
			if r.Errors == nil {
				r.Errors = map[string]string{}
			}
			r.Errors[environment] = errors.Join(found.Errors[environment], fmt.Errorf("publish: %w", err)).Error()
		} else if said != "" {
			r.Done = append(r.Done, environment+": "+said)
		}
	}
}

func (c *appPromoteCommand) publishEnvironment(ctx context.Context, s *appSession, environment, commit string, to registry.Reference, release registry.Release) (string, error) {
	store, err := openStore(c.t, to, true)
	if err != nil {
		return "", err
	}
	newest, err := store.Get(ctx, environment)
	if err != nil && !errors.Is(err, registry.ErrNone) {
		return "", err
	}
	if err == nil && newest.Descriptor.Environment == environment && newest.Descriptor.Inputs.GitOps.Commit == commit {
		signed, err := store.Bundles(ctx, newest)
		if err != nil || len(signed) > 0 || release.Key == nil {
			return "", err
		}
	}
	s.progress.Say("publishing %s of %s", terminal.Short(commit), environment)
	versions := s.versions()
	versions.Loader = s.again()
	versions.Policies = nil // the version is the one that "kalypso app publish" makes
	request := s.request
	request.GitOpsCommit = commit
	v, err := versions.Merged(ctx, deliver.VersionRequest{Request: request, Environment: environment})
	if err != nil {
		return "", err
	}
	released, err := store.Release(ctx, v, release)
	switch {
	case err != nil || !released.New && !released.Moved && !released.Attested:
		return "", err
	case !released.New && !released.Moved:
		return fmt.Sprintf("signed %s", to.At(released.Stored.Artifact)), nil
	}
	return fmt.Sprintf("published %s as %s", to.At(released.Stored.Artifact), released.Tags[0]), nil
}
