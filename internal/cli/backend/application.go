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
func (a Applications) Do(ctx context.Context, name string, c Command) (accepted api.Accepted, err error) {
	err = a.Client.Post(ctx, client.Path("applications", name, "environments", c.Environment, c.Action), c.body(), &accepted)
	return accepted, Hint(err)
}

// Record records what CI built from a commit.
func (a Applications) Record(ctx context.Context, name string, b deliver.Build) (recorded api.RecordedBuild, err error) {
	err = a.Client.Post(ctx, client.Path("applications", name, "builds"), api.BuildCommand{Commit: b.Commit, Version: b.Version, Image: b.Image}, &recorded)
	return recorded, Hint(err)
}

// PinTargets requests what targets of an application in an environment should have: rollback, uninstall or deploy, with the body of that
// operation. The answer is decoded into out.
func (a Applications) PinTargets(ctx context.Context, name, environment, action string, body, out any) error {
	return Hint(a.Client.Post(ctx, client.Path("applications", name, "environments", environment, "targets", action), body, out))
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
