package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// Applications are the applications that a server delivers.
type Applications struct{ Client *client.Client }

// Do requests an action of an application in an environment. The commit of c is required, except for a rollback.
func (a Applications) Do(ctx context.Context, name string, c Command) (api.Accepted, error) {
	return tell[api.Accepted](ctx, a, "applications/{name}/environments/{environment}/"+c.Action, applicationPath(name, c.Environment), c.body())
}

// Record records what CI built from a commit.
func (a Applications) Record(ctx context.Context, name string, b deliver.Build) (api.RecordedBuild, error) {
	body := api.BuildCommand{Commit: b.Commit, Version: b.Version, Image: b.Image}
	return tell[api.RecordedBuild](ctx, a, "applications/{name}/builds", query.ApplicationQuery{Name: name}, body)
}

// RollbackTarget requests that a target is rolled back.
func (a Applications) RollbackTarget(ctx context.Context, name, environment string, r api.RollbackTarget) (api.PinnedTargets, error) {
	return tell[api.PinnedTargets](ctx, a, pathOfTargets+"rollback", applicationPath(name, environment), r)
}

// UninstallTargets requests that everything is removed which targets run.
func (a Applications) UninstallTargets(ctx context.Context, name, environment string, r api.UninstallTargets) (api.PinnedTargets, error) {
	return tell[api.PinnedTargets](ctx, a, pathOfTargets+"uninstall", applicationPath(name, environment), r)
}

// DeployTargets requests that targets follow their environment again, or have one of its versions.
func (a Applications) DeployTargets(ctx context.Context, name, environment string, r api.DeployTargets) (api.PinnedTargets, error) {
	return tell[api.PinnedTargets](ctx, a, pathOfTargets+"deploy", applicationPath(name, environment), r)
}

// pathOfTargets is the path of operations on targets of an environment.
const pathOfTargets = "applications/{name}/environments/{environment}/targets/"

func applicationPath(name, environment string) api.ApplicationPath {
	return api.ApplicationPath{ApplicationQuery: query.ApplicationQuery{Name: name}, Environment: environment}
}

// tell requests something of a server that delivers applications.
func tell[T any](ctx context.Context, a Applications, path string, at, body any) (T, error) {
	answer, err := client.Tell[T](ctx, a.Client, path, at, body)
	return answer, Hint(err)
}

// CommitOf returns the commit of a version that an environment of the application has, or that is promoted next.
func (a Applications) CommitOf(ctx context.Context, name, version string) (string, error) {
	found, err := ServerQuerier(a).Application(ctx, query.ApplicationQuery{Name: name})
	if err != nil {
		return "", err
	}
	var commits, versions []string
	for _, e := range found.Environments {
		for _, b := range []*deliver.Build{e.Build, e.Published, e.Candidate} {
			switch {
			case b == nil:
			case b.Version == version:
				commits = append(commits, b.Commit)
			case b.Version != "" && !slices.Contains(versions, b.Version):
				versions = append(versions, b.Version)
			}
		}
	}
	slices.Sort(commits)
	switch commits = slices.Compact(commits); len(commits) {
	case 1:
		return commits[0], nil
	case 0:
		slices.Sort(versions)
		return "", cli.Failed(fmt.Errorf("no environment of %q has version %q; there are %s", name, version, strings.Join(versions, ", ")), "name the commit with --commit")
	}
	return "", cli.Failed(fmt.Errorf("several commits of %q were built as %q", name, version), "name the commit with --commit")
}
