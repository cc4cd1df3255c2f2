package github_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
)

// The abilities of this forge.
var (
	_ forge.Forge           = (*github.Forge)(nil)
	_ forge.Viewer          = (*github.Forge)(nil)
	_ forge.Creator         = (*github.Forge)(nil)
	_ forge.Remover         = (*github.Repository)(nil)
	_ forge.WebhookVerifier = (*github.Forge)(nil)
	_ forge.Brancher        = (*github.Repository)(nil)
	_ forge.Annotator       = (*github.Repository)(nil)
	_ forge.LabelHistorian  = (*github.Repository)(nil)
	_ forge.Checker         = (*github.Repository)(nil)
	_ forge.AutoMerger      = (*github.Repository)(nil)
	_ forge.Protector       = (*github.Repository)(nil)
	_ forge.CodeOwned       = (*github.Repository)(nil)
	_ forge.Hooker          = (*github.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, githubtest.Harness)
}

func TestChecks(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	commit := fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.SetStatus(t.Context(), commit, forge.Status{Context: "kalypso/plan", State: forge.Success}); err != nil {
		t.Fatal(err)
	}
	want := []forge.Status{}
	for i, run := range []struct {
		status, conclusion string
		state              forge.StatusState
	}{
		{"queued", "", forge.Pending},
		{"in_progress", "", forge.Pending},
		{"completed", "success", forge.Success},
		{"completed", "skipped", forge.Success},
		{"completed", "failure", forge.Failure},
		{"completed", "action_required", forge.Failure},
		{"completed", "timed_out", forge.Errored},
		{"completed", "", forge.Failure},
	} {
		name := fmt.Sprint("ci ", i)
		want = append(want, forge.Status{Context: name, State: run.state})
		if fake.CheckRuns == nil {
			fake.CheckRuns = map[string][]map[string]any{}
		}
		fake.CheckRuns[commit] = append(fake.CheckRuns[commit], map[string]any{
			"name": name, "status": run.status, "conclusion": run.conclusion,
		})
	}
	want = append(want, forge.Status{Context: "kalypso/plan", State: forge.Success})
	got, err := repo.(forge.Checker).Checks(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(forge.Status{}, "Time")); diff != "" {
		t.Error(diff)
	}
}

func TestForges(t *testing.T) {
	var all forge.Forges
	for _, url := range []string{"https://github.com", "https://github.example.com"} {
		f, err := github.New(github.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	for url, want := range map[string]string{
		"git@github.com:acme/shop.git":           "github.com/acme/shop",
		"ssh://git@ssh.github.com:443/acme/shop": "github.com/acme/shop",
		"https://github.example.com/acme/shop":   "github.example.com/acme/shop",
	} {
		f, err := all.Forge(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if r, err := f.Repository(url); err != nil || r.ID().String() != want {
			t.Errorf("%s: got %v, %v, want %s", url, r, err, want)
		}
	}
}
