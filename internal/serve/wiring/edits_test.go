package wiring

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// TestPullRequestsOfConfigurationsAreCheckedForEditRights opens pull requests to the configuration of an application whose schema has edit rights.
func TestPullRequestsOfConfigurationsAreCheckedForEditRights(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	const context = deliver.StatusConfig + "shop"
	propose := func(branch, content string) forge.PullRequest {
		t.Helper()
		if err := s.Repo(shopConfigs).(forge.Brancher).CreateBranch(t.Context(), branch, s.Head(shopConfigs, "dev")); err != nil {
			t.Fatal(err)
		}
		s.Push(shopConfigs, branch, map[string]string{"functional-test/values.yaml": content})
		change, err := s.Repo(shopConfigs).OpenPullRequest(t.Context(), forge.NewPullRequest{Head: branch, Base: "dev", Title: branch})
		if err != nil {
			t.Fatal(err)
		}
		return change
	}
	first := propose("more", "replicas: 5\n")
	if problems := s.deliver(t, d); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := s.status(shopConfigs, first.Head.Commit, context); got != "" {
		t.Errorf("without edit rights, the status is %q", got)
	}
	s.Push(shopSource, "main", map[string]string{"helm/values.schema.json": `{"properties": {"replicas": {"type": "integer", "editableBy": ["sre"]}}}`})
	other := propose("note", "replicas: 2\nnote: hello\n")
	broken := propose("broken", "replicas: [\n")
	s.deliver(t, d)
	if got := s.status(shopConfigs, first.Head.Commit, context); !strings.HasPrefix(got, "failure replicas is changed here, but is editable by sre only") {
		t.Errorf("the status is %q", got)
	}
	if got := s.status(shopConfigs, other.Head.Commit, context); got != "success the author may edit every value that the change touches" {
		t.Errorf("the status of another value is %q", got)
	}
	if got := s.status(shopConfigs, broken.Head.Commit, context); !strings.HasPrefix(got, "failure ") {
		t.Errorf("the status of a broken file is %q", got)
	}
	_, err := s.Repo(shopConfigs).MergePullRequest(t.Context(), first.Number, forge.Merge{Head: first.Head.Commit})
	if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "check "+context+" is failing") {
		t.Errorf("it is merged over the failing status: %v", err)
	}
	comment := func(number int) string {
		all, err := s.Repo(shopConfigs).Comments(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		ours, _ := forge.MarkedComment(all, context, "")
		return ours.Body
	}
	if got := comment(first.Number); !strings.Contains(got, "- `functional-test/values.yaml:1` replicas is changed here, but is editable by sre only") {
		t.Errorf("the comment is %q", got)
	}
	if got := comment(other.Number); got != "" {
		t.Errorf("a pull request that changes nothing of others has the comment %q", got)
	}

	// The same values in the name of a user who may set them, and then of others again.
	d.flows.vouched = func(c forge.PullRequest) (editing.Author, bool) {
		return editing.Author{Name: "ada", Groups: []string{"sre"}}, c.Number == first.Number
	}
	s.deliver(t, d)
	if got := s.status(shopConfigs, first.Head.Commit, context); !strings.HasPrefix(got, "success ") {
		t.Errorf("for a user with the right, the status is %q", got)
	}
	if got := comment(first.Number); strings.Contains(got, "sre") || !strings.Contains(got, "may edit every value") {
		t.Errorf("the comment is still %q", got)
	}
	s.Push(shopConfigs, "note", map[string]string{"functional-test/values.yaml": "note: hello\n"})
	s.deliver(t, d)
	if got := s.status(shopConfigs, s.Head(shopConfigs, "note"), context); !strings.HasPrefix(got, "failure replicas is removed here") {
		t.Errorf("after a push, the status is %q", got)
	}
}
