package wiring

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestARepositoryOfTheOriginalIsAdoptedByOneChange takes over the files of the original scheduler.
func TestARepositoryOfTheOriginalIsAdoptedByOneChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Push(fleettest.GitOps, "dev", w.original())
	o := w.round("dev")
	c := w.OpenPullRequest()
	if got := o.Plan.Counts; got.Added != 0 || got.Changed != 1 || got.Removed != 1 {
		t.Errorf("counts: %+v", got)
	}
	if got := o.Plan.Budget.Removals; got != 1 {
		t.Errorf("%d removals are counted, want that of the assignment nothing schedules", got)
	}
	if c.Title != "dev: 1 changed, 1 removed" {
		t.Errorf("title %q", c.Title)
	}
	w.Merge()
	after := w.Files(fleettest.GitOps, "dev")
	for path, want := range map[string]bool{
		"drone/nginx-dev/config.yaml": false, "drone/nginx-dev/platform-config.yaml": true, "small/retired-dev/namespace.yaml": false,
		".kalypso/inventory/drone.json": true, "tools/reconciler.yaml": true, "large/notes/todo.md": true,
	} {
		if is := after[path] != ""; is != want {
			t.Errorf("%s is there: %v", path, is)
		}
	}
	if again := w.round("dev"); len(again.Did) > 0 || len(w.PullRequests()) != 1 {
		t.Errorf("afterwards a round did %v", again.Did)
	}
}

// original returns the branch dev as the original scheduler wrote it, with files that a user added.
func (w *world) original() map[string]string {
	w.Helper()
	model := newWorld(w.TB.(*testing.T))
	model.round("dev")
	files := map[string]string{
		"tools/reconciler.yaml": "somebody's\n", "large/notes/todo.md": "somebody's\n",
		".github/tracking/Promoted_Commit_Id": w.Head(fleettest.ControlPlane, "main"),
	}
	for path, content := range model.Files(fleettest.GitOps, "kalypso/dev") {
		content = strings.ReplaceAll(content, model.URL, w.URL)
		switch {
		case strings.HasPrefix(path, ".kalypso/"):
			continue
		case path == "drone/nginx-dev/platform-config.yaml":
			path = "drone/nginx-dev/config.yaml"
		case strings.HasPrefix(path, "small/nginx-dev/"):
			files[strings.Replace(path, "nginx", "retired", 1)] = content
		}
		files[path] = content
	}
	return files
}

// TestNothingOfOthersChanges compares the whole repository before and after rounds.
func TestNothingOfOthersChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate()
	before := w.others()
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["})
	w.round("dev") // opens a pull request and an issue
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"broken.yaml": ""})
	w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	w.round("dev") // updates the pull request, closes the issue
	w.Edit("dev", "gitops-repo.yaml", "branch: dev", "branch: dev\n  autoMerge: true")
	if o := w.round("dev"); o.PullRequest.State != forge.Merged {
		t.Fatalf("not merged: %s", o.Waits)
	}
	w.Edit("dev", westConfig, "mysql://west-2:", "mysql://west:")
	w.Edit("dev", "gitops-repo.yaml", "autoMerge: true", "autoMerge: false")
	w.round("dev")
	w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	w.round("dev") // nothing is left to change: closes the pull request and deletes its branch
	if diff := cmp.Diff(before, w.others()); diff != "" {
		t.Errorf("something of others changed (-before +after):\n%s", diff)
	}
}

// populate adds branches, pull requests and issues of other users to the GitOps repository.
func (w *world) populate() {
	w.Helper()
	mine := map[string]string{"README.md": "mine\n", "drone/notes.md": "mine\n", "apps/app.yaml": "a: b\n"}
	w.Push(fleettest.GitOps, "dev", mine)
	mine["more.md"] = "more\n"
	commit := w.Push(fleettest.GitOps, "feature", mine)
	w.Push(fleettest.GitOps, "kalypso/notes", mine)
	if out, err := fleettest.Git("-C", filepath.Join(w.Dir, fleettest.GitOps+".git"), "tag", "v1", commit).CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	repo := w.Repo(fleettest.GitOps)
	change, err := repo.OpenPullRequest(w.Context(), forge.NewPullRequest{Head: "feature", Base: "dev", Title: "mine", Body: "kalypso:{}"})
	if err != nil {
		w.Fatal(err)
	}
	for _, label := range []string{pullrequest.LabelPromoted, schedule.LabelProblem} {
		if err := repo.EnsureLabel(w.Context(), forge.Label{Name: label, Color: "abcdef"}); err != nil {
			w.Fatal(err)
		}
	}
	if err := repo.AddLabels(w.Context(), change.Number, pullrequest.LabelPromoted); err != nil {
		w.Fatal(err)
	}
	if _, err := repo.OpenIssue(w.Context(), forge.NewIssue{Title: "mine", Labels: []string{schedule.LabelProblem}}); err != nil {
		w.Fatal(err)
	}
	w.say(commit, "build", forge.Failure)
}

// others describes everything in the GitOps repository that Kalypso did not create.
func (w *world) others() string {
	w.Helper()
	var b strings.Builder
	out, err := fleettest.Git("-C", filepath.Join(w.Dir, fleettest.GitOps+".git"), "for-each-ref", "--format=%(refname) %(objectname)").Output()
	if err != nil {
		w.Fatal(err)
	}
	ours := []string{"refs/heads/dev", "refs/heads/kalypso/dev"}
	for line := range strings.Lines(string(out)) {
		if name, _, _ := strings.Cut(line, " "); !slices.Contains(ours, name) && !strings.HasPrefix(name, "refs/pull/") {
			b.WriteString(line)
		}
	}
	for path, content := range w.Files(fleettest.GitOps, "dev") {
		if path == "README.md" || path == "drone/notes.md" || path == "apps/app.yaml" {
			fmt.Fprintf(&b, "%s of %d bytes\n", path, len(content))
		}
	}
	repo := w.Repo(fleettest.GitOps)
	for _, c := range w.PullRequests() {
		if c.Head.Branch == "kalypso/dev" {
			continue
		}
		comments, err := repo.Comments(w.Context(), c.Number)
		if err != nil {
			w.Fatal(err)
		}
		statuses, err := repo.Statuses(w.Context(), c.Head.Commit)
		if err != nil {
			w.Fatal(err)
		}
		c.Base.Commit = "" // it changes
		fmt.Fprintf(&b, "%+v %+v %+v\n", c, comments, statuses)
	}
	for _, i := range w.Issues("") {
		if i.Title == "mine" {
			fmt.Fprintf(&b, "%+v\n", i)
		}
	}
	lines := strings.Split(b.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
