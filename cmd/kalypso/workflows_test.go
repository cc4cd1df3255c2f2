package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/cmd/kalypso/workflowtest"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestWorkflowsDeliver runs the commands of the workflows that "kalypso init ci" writes, in the order and with the variables of
// each CI system: a commit comes to dev and, when clusters run it, to stage; a change of configuration comes to its environment alone.
// The rules and scans of the control plane count for all of them.
func TestWorkflowsDeliver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there programs are told by the environment whom to trust")
	}
	for _, kind := range workflowKinds {
		t.Run(kind.flag, func(t *testing.T) {
			t.Parallel()
			s := newWorkflowStory(t, kind)
			commit := s.push("shop", "main", fleettest.Shop())
			s.init("app")

			s.happens(workflowtest.Event{Kind: workflowtest.Push, Branch: "main", Commit: commit, Number: "7"})
			dev := s.change("dev", commit[:7])
			s.wantMerged(dev)
			s.wantText(dev, "Scans: 1 passed")
			s.wantInside("dev", "functional-test/manifests.yaml", "image: registry.example/shop:"+commit, "replicas: 2", "value: \"hi\"")
			s.wantInside("dev", ".github/tracking/Version", "0.1.7")

			s.clustersRun("dev", "functional-test")
			s.happens(workflowtest.Event{Kind: workflowtest.Schedule, Branch: "main", Commit: commit, Number: "8"})
			s.wantStatus("shop", commit, "dev", "success Deployed 0.1.7")
			s.wantPublished("dev")
			stage := s.change("stage", "deliver shop 0.1.7")
			s.wantText(stage, "Scans: 1 passed")
			s.merge(stage)
			s.clustersRun("stage", "uat-test")
			s.happens(workflowtest.Event{Kind: workflowtest.Schedule, Branch: "main", Commit: commit, Number: "9"})
			s.wantStatus("shop", commit, "stage", "success Deployed 0.1.7")
			s.wantPublished("stage")
			s.wantInside("stage", "uat-test/manifests.yaml", "image: registry.example/shop:"+commit, "replicas: 3")

			before := s.head("shop-gitops", "dev")
			s.push("shop-configs", "stage", map[string]string{"uat-test/values.yaml": "replicas: 5\n"})
			s.happens(workflowtest.Event{Kind: workflowtest.ConfigChanged, Branch: "main", Commit: commit, Environment: "stage", Number: "10"})
			configured := s.change("stage", "configure shop 0.1.7")
			if configured.HasLabel(pullrequest.LabelPromoted) || !stage.HasLabel(pullrequest.LabelPromoted) {
				t.Errorf("the label promoted: a commit wears %q, a change of configuration %q", stage.Labels, configured.Labels)
			}
			s.wantText(configured, "few-replicas", "Scans: 1 passed")
			if got := s.head("shop-gitops", "dev"); got != before {
				t.Errorf("dev moved from %s to %s", before, got)
			}
		})
	}
}

// workflowStory is an application on a forge whose CI system runs its workflows.
type workflowStory struct {
	*workflowForge
	// files are the workflows of the source.
	files  map[string][]byte
	ledger string
	// versions is the folder where solution versions are published.
	versions string
}

func newWorkflowStory(t *testing.T, kind workflowKind) *workflowStory {
	t.Helper()
	s := &workflowStory{
		workflowForge: newWorkflowForge(t, kind, "shop", "shop-configs", "shop-gitops", "platform"),
		ledger:        filepath.Join(t.TempDir(), "ledger.db"),
		versions:      filepath.Join(t.TempDir(), "versions"),
	}
	s.push("shop-configs", "dev", map[string]string{"values.yaml": "greeting: hi\n", "functional-test/values.yaml": "replicas: 2\n"})
	s.push("shop-configs", "stage", map[string]string{"values.yaml": "greeting: good day\n", "uat-test/values.yaml": "replicas: 3\n"})
	s.push("shop-gitops", "main", map[string]string{"README.md": "the shop\n"})
	s.push("platform", "main", map[string]string{"environments.yaml": planeOf("dev", "stage"), "scans.yaml": workflowScans})
	s.push("platform", "dev", map[string]string{"README.md": "dev\n"})
	s.push("platform", "stage", map[string]string{"rules.yaml": workflowRules})
	return s
}

// planeOf lists environments of a control plane, each on a branch of its name.
func planeOf(environments ...string) string {
	var text strings.Builder
	for _, name := range environments {
		fmt.Fprintf(&text, "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: %s}\nspec: {controlPlane: {repo: ., branch: %[1]s}}\n", name)
	}
	return text.String()
}

// What the platform team demands: a scan of charts everywhere, and a rule in stage.
const (
	workflowScans = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: CheckPolicy
metadata: {name: scans}
spec:
  scans:
  - name: names
    what: charts
    command: {args: [sh, -c, 'grep -q "name: shop" $0/Chart.yaml', "{path}"]}
`
	workflowRules = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: CheckPolicy
metadata: {name: small}
spec:
  rules:
  - name: few-replicas
    kinds: [Deployment]
    expression: object.spec.replicas < 5
    message: has too many replicas for stage
    level: warn
`
)

// push commits files to a branch, and returns the commit.
func (s *workflowStory) push(repository, branch string, files map[string]string) string {
	s.Helper()
	dir := s.TempDir()
	s.run("clone", "-q", s.bare(repository), dir)
	if s.head(repository, branch) == "" {
		s.run("-C", dir, "checkout", "-q", "--orphan", branch)
	} else {
		s.run("-C", dir, "checkout", "-q", branch)
	}
	for path, text := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	s.run("-C", dir, "add", "-A")
	s.run("-C", dir, "commit", "-q", "-m", "change")
	s.run("-C", dir, "push", "-q", "origin", branch)
	return s.head(repository, branch)
}

// head is the commit of a branch; empty when there is none.
func (s *workflowStory) head(repository, branch string) string {
	return strings.TrimSpace(s.run("-C", s.bare(repository), "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch))
}

// checkout is a work tree as a CI system makes it: of the commit, and of no branch.
func (s *workflowStory) checkout(repository string) string {
	s.Helper()
	dir := filepath.Join(s.TempDir(), repository)
	s.run("clone", "-q", s.bare(repository), dir)
	s.run("-C", dir, "checkout", "-q", "--detach", "origin/main")
	origin := s.kind.url + repository
	switch s.kind.flag {
	case "gitlab": // whose checkouts have a credential
		origin = strings.Replace(origin, "://", "://gitlab-ci-token:"+workflowToken+"@", 1) + ".git"
	case "bitbucket": // whose proxy adds one
		origin = strings.Replace(origin, "://", "://x-token-auth:"+workflowToken+"@", 1)
	}
	s.run("-C", dir, "remote", "set-url", "origin", origin)
	return dir
}

// init writes the workflows of the source.
func (s *workflowStory) init(target string) {
	s.Helper()
	dir := s.checkout("shop")
	s.shell("kalypso init ci --"+s.kind.flag+" --for "+target+" --kalypso-version v1.2.3", dir, nil)
	s.files = map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yml" {
			return err
		}
		s.files[path], err = fs.ReadFile(os.DirFS(dir), path)
		return err
	})
	if err != nil || len(s.files) == 0 {
		s.Fatalf("%d workflows, error %v", len(s.files), err)
	}
}

// happens runs the scripts that call kalypso of the jobs that the CI system runs when something has happened.
func (s *workflowStory) happens(e workflowtest.Event) {
	s.Helper()
	e.URL, e.Token = s.kind.url+"shop", workflowToken
	e.Settings = map[string]string{
		"DELIVERY_TOKEN": workflowToken, "DELIVERY_READ_TOKEN": workflowToken, "KALYPSO_LEDGER": s.ledger, "DELIVER": "true",
		"CONTROL_PLANE": s.kind.url + "platform", "SCAN": "true",
		"PUBLISH": s.versions,
	}
	steps, err := s.kind.system(s.files, e)
	if err != nil {
		s.Fatal(err)
	}
	ran := 0
	for _, step := range steps {
		if len(kalypsoLines(step.Script)) == 0 {
			continue
		}
		ran++
		dir := s.TempDir()
		if step.Checkout {
			dir = s.checkout("shop")
		}
		s.Logf("%s: %s\n%s", e.Kind, step.Job, s.shell(step.Script, dir, step.Env))
	}
	if ran == 0 {
		s.Fatalf("after %s nothing calls kalypso", e.Kind)
	}
}

// shell runs a script and wants it to succeed.
func (s *workflowStory) shell(script, dir string, env map[string]string) string {
	s.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = slices.Concat([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HTTPS_PROXY=" + scriptProxy,
	}, s.env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}

// change is the newest one to a branch, whose title says something.
func (s *workflowStory) change(base, title string) forgetest.PullRequest {
	s.Helper()
	s.world.Lock()
	defer s.world.Unlock()
	var titles []string
	for _, c := range slices.Backward(s.world.Repo(s.kind.path + "shop-gitops").PullRequests) {
		if c.Base.Branch == base && strings.Contains(c.Title+c.Body, title) {
			if s.kind.flag == "bitbucket" { // whose labels are in the text
				c := *c
				c.Labels, c.Body = texts.Parse(c.Body)
				return c
			}
			return *c
		}
		titles = append(titles, c.Title)
	}
	s.Fatalf("no change to %s says %q, of %q", base, title, titles)
	return forgetest.PullRequest{}
}

// wantMerged wants a change of a commit to be merged already.
func (s *workflowStory) wantMerged(c forgetest.PullRequest) {
	s.Helper()
	if c.State != forge.Merged || !c.HasLabel(pullrequest.LabelPromoted) {
		s.Errorf("%q is %s and wears %q", c.Title, c.State, c.Labels)
	}
}

// wantText wants the text of a change to say something.
func (s *workflowStory) wantText(c forgetest.PullRequest, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(c.Body, text) {
			s.Errorf("the text of %q does not say %q:\n%s", c.Title, text, c.Body)
		}
	}
}

// merge merges a change, as a person does.
func (s *workflowStory) merge(c forgetest.PullRequest) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	s.world.Lock()
	r := s.world.Repo(s.kind.path + "shop-gitops")
	err := r.Merge("a-person", r.PullRequest(c.Number), forge.Merge{})
	s.world.Unlock()
	if err != nil {
		s.Fatalf("merge %q: %v", c.Title, err)
	}
	s.settle()
}

// wantPublished wants the merged commit of an environment to be a solution version, and the newest one of the environment.
func (s *workflowStory) wantPublished(environment string) {
	s.Helper()
	index, err := os.ReadFile(filepath.Join(s.versions, "index.json"))
	if err != nil {
		s.Fatal(err)
	}
	for _, tag := range []string{environment, environment + "-" + s.head("shop-gitops", environment)[:12]} {
		if !strings.Contains(string(index), `"`+tag+`"`) {
			s.Errorf("no version has the tag %s: %s", tag, index)
		}
	}
}

func (s *workflowStory) wantInside(branch, path string, texts ...string) {
	s.Helper()
	content := s.run("-C", s.bare("shop-gitops"), "show", branch+":"+path)
	for _, text := range texts {
		if !strings.Contains(content, text) {
			s.Errorf("%s of %s does not contain %q:\n%s", path, branch, text, content)
		}
	}
}

// wantStatus wants the last thing that is said about a commit in an environment.
func (s *workflowStory) wantStatus(repository, commit, environment, want string) {
	s.Helper()
	s.world.Lock()
	defer s.world.Unlock()
	for _, status := range slices.Backward(s.world.Repo(s.kind.path + repository).Statuses[commit]) {
		if context := status.Context[strings.LastIndexByte(status.Context, '\n')+1:]; context == environment { // Azure puts a genre before it
			if got := string(status.State) + " " + status.Description; got != want {
				s.Errorf("of %s in %s is said %q, want %q", commit[:7], environment, got, want)
			}
			return
		}
	}
	s.Errorf("of %s in %s nothing is said", commit[:7], environment)
}

// clustersRun has a cluster report that it runs what an environment's branch has now; the platform gave it the target.
func (s *workflowStory) clustersRun(environment, target string) {
	s.Helper()
	l, err := sqlite.Open(s.Context(), s.ledger)
	if err != nil {
		s.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // what was recorded is stored
	now := time.Now().UTC()
	for _, err := range []error{
		l.RecordCommit(s.Context(), ledger.Commit{
			Repository: "https://git.example/platform-gitops", Branch: environment, SHA: strings.Repeat("a", 40), Kind: ledger.BranchPlatform,
			Environment: environment, Committed: now, Recorded: now,
			Assignments: []ledger.Assignment{{ClusterType: "large", Target: fleet.TargetName("shop", target), Workload: "shop"}},
		}),
		l.Register(s.Context(), ledger.Registration{
			Cluster: environment + "-1", Memberships: []ledger.Membership{{Environment: environment, ClusterType: "large"}}, At: now,
		}),
		l.Report(s.Context(), ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: environment + "-1", Kind: "Kustomization", Namespace: "flux-system", Name: "shop"},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: ledger.CleanRepository(s.kind.url + "shop-gitops"), Ref: environment, Path: target},
				Revision: s.head("shop-gitops", environment), State: ledger.StateReady, Health: hub.HealthHealthy,
			},
			Observed: now, Received: now,
		}),
	} {
		if err != nil {
			s.Fatal(err)
		}
	}
}
