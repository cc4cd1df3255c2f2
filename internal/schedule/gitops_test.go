package schedule

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// publish puts everything that an environment wants onto its GitOps branch.
func (s *shelf) publish(t *testing.T, environment string) {
	t.Helper()
	loaded := s.load(t, Request{Environment: environment})
	b := bundle.Build(loaded.Snapshot, nil, nil)
	for _, change := range b.Changes() {
		s.files["gitops/"+environment+"/"+change.Path] = string(change.Content)
	}
}

// draft makes a draft of the shelf's control plane.
func (s *shelf) draft(t *testing.T, r DraftRequest) *Draft {
	t.Helper()
	r.ControlPlane = "control-plane"
	drafter := Drafter{Loader: &Loader{Repositories: s}}
	d, err := drafter.Draft(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *shelf) unpublished(t *testing.T, environment string) *Draft {
	t.Helper()
	return s.draft(t, DraftRequest{Request: Request{Environment: environment}, Unpublished: true})
}

func (s *shelf) plan(t *testing.T, environment, folder string) (*GitOps, *plan.Plan) {
	t.Helper()
	d := s.draft(t, DraftRequest{Request: Request{Environment: environment}, Folder: folder})
	return d.GitOps, d.Plan
}

func TestPlanOfAnEmptyBranchAddsEverything(t *testing.T) {
	g, p := helloFleet(t, nil).plan(t, "dev", "")
	if g.Exists || p.Counts != (plan.Counts{Added: 10}) {
		t.Errorf("got exists %v and %+v, want no branch and 10 added", g.Exists, p.Counts)
	}
	if p.Before != "gitops dev (does not exist yet)" || !strings.HasPrefix(p.After, "control plane dev@") {
		t.Errorf("got %q compared with %q", p.After, p.Before)
	}
}

func TestProgressDoesNotForetell(t *testing.T) {
	s := helloFleet(t, nil)
	loaded := s.load(t, Request{Environment: "dev"})
	var said []string
	l := Loader{Repositories: s, Progress: func(what string) { said = append(said, what) }}
	if _, err := l.GitOps(t.Context(), loaded, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"reading gitops dev"}, said); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestPlanOfPublishedFilesIsEmpty(t *testing.T) {
	s := helloFleet(t, nil)
	s.publish(t, "dev")
	g, p := s.plan(t, "dev", "")
	if !g.Exists || g.Commit == "" || !p.Empty() || p.Counts.Unchanged != 10 {
		t.Errorf("got exists %v, commit %q, %+v", g.Exists, g.Commit, p.Counts)
	}
	if g.String() != "gitops dev@"+g.Commit[:7] {
		t.Errorf("got name %q", g)
	}

	// A folder stands in for the branch.
	g, p = s.plan(t, "dev", "gitops/dev")
	if g.String() != "gitops/dev" || !p.Empty() {
		t.Errorf("got name %q, %+v", g, p.Counts)
	}
}

func TestUnreadableInputKeepsPublishedFiles(t *testing.T) {
	s := helloFleet(t, nil)
	s.publish(t, "dev")
	s.broken["platform-services"] = errors.New("the server is down")
	_, p := s.plan(t, "dev", "")
	if p.Counts != (plan.Counts{Held: 8, Unchanged: 2}) {
		t.Errorf("got %+v, want the services held and nothing removed", p.Counts)
	}

	delete(s.broken, "platform-services")
	s.files["control-plane/dev/base-repo.yaml"] = baseRepo(".", "abc")
	_, p = s.plan(t, "dev", "")
	if p.Counts != (plan.Counts{Held: 10}) {
		t.Errorf("got %+v, want everything held while the promoted commit is unknown", p.Counts)
	}
}

func TestGitOpsNeedsARepositoryThatCanBeRead(t *testing.T) {
	s := helloFleet(t, nil)
	s.broken["gitops"] = errors.New("the server is down")
	loaded := s.load(t, Request{Environment: "dev"})
	if _, err := (&Loader{Repositories: s}).GitOps(t.Context(), loaded, ""); err == nil || !strings.Contains(err.Error(), "the server is down") {
		t.Errorf("got error %v: a branch that cannot be read is not an empty one", err)
	}

	s = helloFleet(t, map[string]string{"control-plane/dev/gitops-repo.yaml": ""})
	loaded = s.load(t, Request{Environment: "dev"})
	if _, err := (&Loader{Repositories: s}).GitOps(t.Context(), loaded, ""); !errors.Is(err, ErrNoGitOpsRepo) {
		t.Errorf("got error %v, want %v", err, ErrNoGitOpsRepo)
	}
	if g, err := (&Loader{Repositories: s}).GitOps(t.Context(), loaded, "folder"); err != nil || g.Exists {
		t.Errorf("got error %v: a folder needs no GitOpsRepo", err)
	}

	s = helloFleet(t, nil)
	repo := s.files["control-plane/dev/gitops-repo.yaml"]
	for _, broken := range []string{"a: [", repo + "\n---\n" + strings.Replace(repo, "name: dev", "name: dev-2", 1), strings.Replace(repo, "path: .", "path: ..", 1)} {
		s.files["control-plane/dev/gitops-repo.yaml"] = broken
		loaded = s.load(t, Request{Environment: "dev"})
		_, err := (&Loader{Repositories: s}).GitOps(t.Context(), loaded, "folder")
		if !errors.Is(err, ErrNoGitOpsRepo) || !strings.HasPrefix(err.Error(), "gitops-repo.yaml:") {
			t.Errorf("got error %v, want %v: the path in the folder is not known from\n%s", err, ErrNoGitOpsRepo, broken)
		}
	}
}

func TestValidateCounts(t *testing.T) {
	const config = "control-plane/dev/cluster-types/west-us/west-us-config.yaml"
	s := helloFleet(t, nil)
	s.files[config] = strings.Replace(s.files[config], "mysql://", "postgres://", 1)
	v := Validate(s.unpublished(t, "dev"))
	if v.ClusterTypes != 4 || v.Targets != 4 || v.Assignments != 10 || v.Held != 1 || len(v.Problems) != 1 {
		t.Errorf("got %+v", v)
	}
	if v = Validate(helloFleet(t, nil).unpublished(t, "dev")); v.Problems == nil {
		t.Error("a program would see null instead of an empty list")
	}
}

func TestValidateNamesTargetsOfUnknownEnvironments(t *testing.T) {
	const workload = "hello-world-app/main/workload/workload.yaml"
	s := helloFleet(t, nil)
	s.files[workload] = strings.Replace(s.files[workload], "environment: stage", "environment: staging", 1)
	for _, p := range Validate(s.unpublished(t, "dev")).Problems {
		if p.Object == (fleet.Ref{Kind: "Workload", Name: "hello-world-app"}) && strings.Contains(p.Message, `"staging"`) && p.Hint == "the environments are dev, stage" {
			return
		}
	}
	t.Error("there is no problem about the unknown environment staging")
}
