package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestLoadFollowsTheObjects(t *testing.T) {
	s := helloFleet(t, nil)
	loaded := s.load(t, Request{Environment: "dev"})
	got := map[string]int{
		"cluster types": len(loaded.Snapshot.ClusterTypes), "targets": len(loaded.Snapshot.Targets),
		"policies": len(loaded.Snapshot.Policies), "problems": len(loaded.Snapshot.Problems),
	}
	want := map[string]int{"cluster types": 4, "targets": 4, "policies": 3, "problems": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dev of the hello fleet (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dev", "stage"}, loaded.Environments); diff != "" {
		t.Errorf("environments (-want +got):\n%s", diff)
	}
}

func TestLoadTakesBranchAndPathFromTheEnvironment(t *testing.T) {
	s := helloFleet(t, map[string]string{
		"control-plane/main/.environments/dev.yaml": environment("dev", "elsewhere", "branches", "./in/here/"),
		"elsewhere/branches/in/here/type.yaml":      clusterType("only"),
		"elsewhere/branches/type.yaml":              clusterType("outside"),
		// Relative URLs of the environment's documents count from the repository that has them.
		"elsewhere/branches/in/here/base.yaml": baseRepo("../control-plane", ""),
	})
	loaded := s.load(t, Request{Environment: "dev"})
	if types := loaded.Snapshot.ClusterTypes; len(types) != 1 || types[0].Name != "only" {
		t.Errorf("got cluster types %v, want the one below the path", types)
	}
	if len(loaded.Snapshot.Targets) == 0 {
		t.Error("main was not read from where the BaseRepo says")
	}
}

func TestLoadReadsMainAtThePromotedCommit(t *testing.T) {
	const promoted = "0123456789012345678901234567890123456789"
	s := helloFleet(t, map[string]string{
		"control-plane/dev/base-repo.yaml":                                   baseRepo(".", promoted),
		"control-plane/main@" + promoted + "/workloads/hello-world-app.yaml": registration("hello-world-app", "../hello-world-app", "workload"),
	})
	loaded := s.load(t, Request{Environment: "dev"})
	if got := loaded.Snapshot.PromotedCommit; got != promoted {
		t.Errorf("got promoted commit %q", got)
	}
	if got := workloads(loaded); !slices.Equal(got, []string{"hello-world-app"}) {
		t.Errorf("got workloads %v, want those of the promoted commit", got)
	}

	loaded = s.load(t, Request{Environment: "dev", Main: "control-plane/main"})
	if got := workloads(loaded); !slices.Equal(got, []string{"hello-world-app", "nginx", "prometheus"}) {
		t.Errorf("got workloads %v, want those of the folder that stands in for main", got)
	}
	if _, err := (&Loader{Repositories: s}).Load(t.Context(), Request{
		ControlPlane: "control-plane", Environment: "dev", MainRef: "v1",
	}); err == nil || !strings.Contains(err.Error(), `read main at "v1"`) {
		t.Errorf("got error %v for a revision that does not exist", err)
	}
}

func TestLoadHoldsWhenTheBaseRepoCannotBeRead(t *testing.T) {
	s := helloFleet(t, map[string]string{"control-plane/dev/base-repo.yaml": baseRepo(".", "abc")})
	loaded := s.load(t, Request{Environment: "dev"})
	if len(loaded.Snapshot.Targets) > 0 {
		t.Error("targets come from the head of main, although the promoted commit is unknown")
	}
	if len(loaded.Snapshot.Unreadable) == 0 {
		t.Error("nothing is held")
	}
}

func TestLoadGoesOnWithoutWhatCannotBeRead(t *testing.T) {
	s := helloFleet(t, nil)
	s.broken["platform-services"] = errors.New("the server is down")
	loaded := s.load(t, Request{Environment: "dev"})
	if got := workloads(loaded); !slices.Equal(got, []string{"hello-world-app"}) {
		t.Errorf("got workloads %v, want the one that can be read", got)
	}
	problems := 0
	for _, p := range loaded.Snapshot.Problems {
		if p.Kind == fleet.KindUnreachable && strings.Contains(p.Message, "the server is down") {
			problems++
		}
	}
	if problems != 2 {
		t.Errorf("got %d problems, want one for each registration in the repository that is down", problems)
	}
}

func TestLoadReadsRegistrationsOfTheEnvironmentBranch(t *testing.T) {
	s := helloFleet(t, map[string]string{
		"control-plane/main/workloads/hello-world-app.yaml": "",
		"control-plane/dev/legacy/registration.yaml":        registration("hello-world-app", "../hello-world-app", "workload"),
	})
	if got := workloads(s.load(t, Request{Environment: "dev"})); !slices.Contains(got, "hello-world-app") {
		t.Errorf("got workloads %v, want the one that the environment branch registers", got)
	}
}

func TestLoadKnowsTheWorkloadsOfTheControlPlaneItself(t *testing.T) {
	const workload = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: %s}\nspec: {deploymentTargets: []}\n"
	s := helloFleet(t, map[string]string{
		"control-plane/main/workloads/own.yaml": registration("own", ".", "samples/own"),
		"control-plane/main/samples/own/w.yaml": fmt.Sprintf(workload, "own"),
		"control-plane/main/stray/w.yaml":       fmt.Sprintf(workload, "stray"),
		// The same repository by another name, as a clone has it that stands for its origin.
		"control-plane/main/workloads/origin.yaml": registration("origin", "../origin", "samples/origin"),
		"control-plane/main/samples/origin/w.yaml": fmt.Sprintf(workload, "origin"),
		"origin/main/samples/origin/w.yaml":        fmt.Sprintf(workload, "origin"),
	})
	loaded := s.load(t, Request{Environment: "dev"})
	var stray []string
	for _, p := range loaded.Snapshot.Problems {
		stray = append(stray, p.Object.Name)
	}
	if diff := cmp.Diff([]string{"stray"}, stray); diff != "" {
		t.Errorf("objects with problems (-want +got):\n%s", diff)
	}
}

func TestUnknownEnvironment(t *testing.T) {
	s := helloFleet(t, nil)
	l := Loader{Repositories: s}
	_, err := l.Load(t.Context(), Request{ControlPlane: "control-plane", Environment: "prod"})
	if !errors.Is(err, ErrNoBranch) || !strings.Contains(err.Error(), "there are dev, stage") {
		t.Errorf("got error %v, want one that lists the environments", err)
	}

	s = helloFleet(t, map[string]string{"control-plane/prod/type.yaml": clusterType("only")})
	if loaded := s.load(t, Request{Environment: "prod"}); len(loaded.Snapshot.ClusterTypes) != 1 {
		t.Error("a branch without an Environment object was not read")
	}
}

func TestEnvironmentThatCannotBeRead(t *testing.T) {
	for _, content := range []string{"kind: [", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: 7}\n"} {
		s := helloFleet(t, map[string]string{"control-plane/main/.environments/dev.yaml": content})
		_, err := (&Loader{Repositories: s}).Load(t.Context(), Request{ControlPlane: "control-plane", Environment: "dev"})
		if err == nil || !strings.Contains(err.Error(), ".environments/dev.yaml:") || !strings.Contains(err.Error(), "is unknown") {
			t.Errorf("%q: got error %v, want one that says why the branch is not known", content, err)
		}
		if problems := s.load(t, Request{Environment: "stage"}).Snapshot.Problems; len(problems) == 0 || strings.Contains(problems[0].Message, "does not exist") {
			t.Errorf("%q: got problems %v of stage, want the one of the document", content, problems)
		}
	}
}

func TestInputs(t *testing.T) {
	s := helloFleet(t, map[string]string{
		"control-plane/main/workloads/own.yaml": registration("own", ".", "samples"),
	})
	inputs := s.load(t, Request{Environment: "dev"}).Inputs
	want := []string{
		"Kalypso-Inputs: dev@" + commitOf("control-plane/dev"),
		"Kalypso-Inputs: main@" + commitOf("control-plane/main"),
		"Kalypso-Inputs: ../hello-world-app@" + commitOf("hello-world-app/main"),
		"Kalypso-Inputs: ../platform-services@" + commitOf("platform-services/main"),
	}
	if diff := cmp.Diff(want, inputs.Trailers()); diff != "" {
		t.Errorf("trailers (-want +got):\n%s", diff)
	}
	if want := time.Unix(int64(len("platform-services/main")), 0); !inputs.Time().Equal(want) {
		t.Errorf("got time %v, want that of the newest commit, %v", inputs.Time(), want)
	}

	folders := s.load(t, Request{Environment: "dev", Main: "control-plane/main", Branch: "control-plane/dev"}).Inputs
	if got := folders.String(); got != "dev, main" {
		t.Errorf("got %q for plain folders, want names without commits", got)
	}
}

func TestNamesHaveNoPasswords(t *testing.T) {
	s := helloFleet(t, map[string]string{
		"control-plane/main/workloads/hello-world-app.yaml": registration("hello-world-app", "https://ann:pa55word@example.com/app", "workload"),
	})
	s.files["control-plane/https:/ann:pa55word@example.com/app/main/workload/workload.yaml"] = s.files["hello-world-app/main/workload/workload.yaml"]
	loaded := s.load(t, Request{Environment: "dev"})
	if got := workloads(loaded); !slices.Contains(got, "hello-world-app") {
		t.Fatalf("got workloads %v: the application was not read", got)
	}
	text := fmt.Sprintf("%+v %+v", loaded.Inputs.Trailers(), loaded.Snapshot.Targets[0].Position)
	if strings.Contains(text, "pa55word") || !strings.Contains(text, "https://example.com/app") {
		t.Errorf("got %s", text)
	}
}

func TestInputsAreShownWithoutPasswords(t *testing.T) {
	const with, without = "https://ann:pa55word@example.com/app", "https://example.com/app"
	for _, input := range (Inputs{Main: Input{Repo: with}, Branch: Input{Repo: with}, Others: []Input{{Repo: with}}}).public() {
		if input.Repo != without {
			t.Errorf("got %q, want %q", input.Repo, without)
		}
	}
}

func TestRepositoriesAreReadAtTheSameTime(t *testing.T) {
	s := helloFleet(t, nil)
	for i := range 2 * maxFetches {
		name := fmt.Sprintf("app-%02d", i)
		s.files["control-plane/main/workloads/"+name+".yaml"] = registration(name, "../"+name, "w")
		s.files[name+"/main/w/w.yaml"] = "kind: nothing of ours\n"
	}
	var mu sync.Mutex
	active, peak := 0, 0
	full, isFull := context.WithTimeout(t.Context(), 2*time.Minute)
	defer isFull()
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		active += n
		peak = max(peak, active)
		if active == maxFetches {
			isFull()
		}
	}
	s.meet = func(at Location) {
		if strings.HasPrefix(at.Repo, "app-") {
			count(1)
			<-full.Done() // the first ones wait for the others, so that all are at work at once
			count(-1)
		}
	}
	s.load(t, Request{Environment: "dev"})
	if peak != maxFetches {
		t.Errorf("got %d readers at once, want %d", peak, maxFetches)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := helloFleet(t, nil)
	s.meet = func(Location) { cancel() }
	if _, err := (&Loader{Repositories: s}).Load(ctx, Request{ControlPlane: "control-plane", Environment: "dev"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want the context's", err)
	}
}

func workloads(l *Loaded) []string {
	var names []string
	for _, target := range l.Snapshot.Targets {
		names = append(names, target.Workload)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func environment(name, repo, branch, path string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: %s}
spec: {controlPlane: {repo: ../%s, branch: %s, path: %s}}
`, name, repo, branch, path)
}

func clusterType(name string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: %s}
spec: {reconciler: flux, namespaceService: default}
`, name)
}

func baseRepo(repo, commit string) string {
	text := fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec:
  repo: %s
  branch: main
`, repo)
	if commit != "" {
		text += fmt.Sprintf("  commit: %q\n", commit)
	}
	return text
}

func registration(name, repo, path string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: %s}
spec: {workload: {repo: %s, branch: main, path: %s}, workspace: kaizen-app-team}
`, name, repo, path)
}
