package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// StatusConfig begins the context of the status on pull requests to the configuration of an application. The name of the Workload follows,
// because applications can share a repository.
const StatusConfig = "kalypso/config/"

// EditChecker checks pull requests to the configuration of applications: whether their authors may edit the values that they change.
type EditChecker struct {
	Loader *Loader            // required
	Forges pullrequest.Forges // required
	// Author returns who a pull request is of. // required
	Author func(on forge.Forge, change forge.PullRequest) editing.Author
	// Forks also checks pull requests from forks, whose files are read then.
	Forks bool
}

// CheckedEdits are the pull requests that were checked before. The zero value is ready. It is not safe for concurrent use.
type CheckedEdits struct{ seen map[string]bool }

// Check posts a required status, and a comment if it fails, on the open pull requests of an application's
// configuration that it has not seen in their present state. It lists what it did. Without edit rights in a schema,
// it asks no forge.
func (c *EditChecker) Check(ctx context.Context, request Request, checked *CheckedEdits) (did []string, err error) {
	a, err := c.Loader.Application(ctx, request, "")
	if err != nil {
		return nil, err
	}
	was, now := checked.seen, map[string]bool{}
	open := map[string][]forge.PullRequest{} // by repository
	var failed []error
	for _, name := range a.Environments() {
		_, rules, err := c.Loader.editRules(ctx, EditRequest{Request: request, Environment: name})
		if err != nil {
			return nil, err
		}
		if declared, err := declares(rules); !declared || err != nil {
			checked.seen = nil
			return nil, err
		}
		config, _, err := c.Loader.Config(ctx, a, name)
		if err != nil || config.Input.Commit == "" {
			continue // the round of the environment reports it, or it is a plain folder
		}
		host, err := c.Forges.Forge(config.Location.Repo)
		if err != nil {
			continue // no forge has pull requests for it
		}
		repo, err := host.Repository(config.Location.Repo)
		if err != nil {
			return did, err
		}
		if _, listed := open[config.Location.Repo]; !listed {
			if open[config.Location.Repo], err = repo.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open}); err != nil {
				return did, fmt.Errorf("list the pull requests of the configuration: %w", err)
			}
		}
		for _, change := range open[config.Location.Repo] {
			if change.Base.Branch != config.Location.Branch {
				continue
			}
			at := editCheck{c, host, repo, request, a.Workload.Name, name, config.Location, change}
			author := c.Author(host, change)
			key := fmt.Sprintf("%q %d %s %s %q", name, change.Number, change.Head.Commit, a.Source.Commit, author)
			if now[key] = true; was[key] {
				continue
			}
			result, err := at.run(ctx, author)
			if err != nil {
				delete(now, key) // the next round tries it again
				failed = append(failed, fmt.Errorf("check pull request %d of the configuration: %w", change.Number, err))
				continue
			}
			did = append(did, fmt.Sprintf("%s: checked the edits of configuration pull request %d: %s", name, change.Number, result))
		}
	}
	checked.seen = now
	return did, errors.Join(failed...)
}

// declares reports whether rules say of any value who may edit it.
func declares(rules []*editing.Rule) (bool, error) {
	for _, r := range rules {
		if declared, err := r.Declared(); err != nil || len(declared) > 0 {
			return true, err
		}
	}
	return false, nil
}

// editCheck is the check of one pull request.
type editCheck struct {
	*EditChecker
	host                  forge.Forge
	repo                  forge.Repository
	request               Request
	workload, environment string
	at                    schedule.Location
	change                forge.PullRequest
}

// run checks the pull request, and posts the result.
func (c *editCheck) run(ctx context.Context, author editing.Author) (forge.StatusState, error) {
	status := forge.Status{Context: StatusConfig + c.workload, State: forge.Success, Description: "the author may edit every value that the change touches", Required: true}
	if c.change.Head.Fork != "" && !c.Forks {
		status.State, status.Description = forge.Errored, "changes from forks are not checked; previewForks allows it"
		return status.State, c.post(ctx, status, nil)
	}
	problems, err := c.problems(ctx, author)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		status.State, status.Description = forge.Errored, err.Error()
		return status.State, errors.Join(c.post(ctx, status, nil), err)
	case len(problems) == 1:
		status.State, status.Description = forge.Failure, problems[0].Message
	case len(problems) > 1:
		status.State, status.Description = forge.Failure, fmt.Sprintf("%d values cannot be changed like this; %s", len(problems), problems[0].Message)
	}
	return status.State, c.post(ctx, status, problems)
}

func (c *editCheck) problems(ctx context.Context, author editing.Author) ([]fleet.Problem, error) {
	base, err := c.Loader.Repositories.Fork(ctx, c.at, c.change.Fetch, c.change.Head.Commit)
	if err != nil {
		return nil, fmt.Errorf("find where the change begins: %w", err)
	}
	return c.Loader.CheckEdits(ctx, author, EditRequest{Request: c.request, Environment: c.environment, Base: base, Head: c.change.Head.Commit})
}

// post writes the comment, and then the status that links to it. Without problems, it only corrects a comment that is there.
func (c *editCheck) post(ctx context.Context, status forge.Status, problems []fleet.Problem) error {
	comments, err := c.repo.Comments(ctx, c.change.Number)
	if err != nil {
		return fmt.Errorf("read the comments: %w", err)
	}
	if _, known := forge.MarkedComment(comments, status.Context, ""); known || len(problems) > 0 {
		comment, err := c.repo.UpsertComment(ctx, c.change.Number, status.Context, c.text(status, problems))
		if err != nil {
			return fmt.Errorf("comment: %w", err)
		}
		status.URL = comment.URL
	}
	err = schedule.SetStatus(ctx, c.repo, c.host.Limits(), c.change.Head.Commit, status)
	if c.change.Head.Fork != "" {
		err = forge.Ignore(err, forge.ErrNotFound) // GitLab takes none for commits that only a fork has
	}
	return err
}

// maxListed is the maximum number of values in a comment.
const maxListed = 50

// text lists the values that cannot be changed, with who may.
func (c *editCheck) text(status forge.Status, problems []fleet.Problem) string {
	if len(problems) == 0 {
		return fmt.Sprintf("The configuration of %s: %s.", markdown.Code(c.workload), markdown.Escape(status.Description))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**The configuration of %s has values that cannot be changed like this:**\n\n", markdown.Code(c.workload))
	for i, p := range problems {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more; `kalypso app config check` lists all of them\n", len(problems)-i)
			break
		}
		fmt.Fprintf(&b, "- %s %s\n", markdown.Code(p.Position.String()), markdown.Escape(p.Message))
	}
	return b.String()
}
