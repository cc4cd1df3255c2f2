//go:build unix

package wiring

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// replicated is a fleet on a Gitea, and servers that share a ledger in PostgreSQL.
type replicated struct {
	*testing.T
	gitea    *fleettest.Gitea
	fleet    *fleettest.Fleet
	ledger   *postgres.Ledger
	url      string
	replicas []*process
	// patience is how long a round may take.
	patience time.Duration
	// planes are the control planes, each with the same environments.
	planes       []string
	environments []string
}

// process is a replica.
type process struct {
	w       *replicated
	name    string
	config  string
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	paused  bool
}

func newReplicated(t *testing.T, servers, planes, environments int) *replicated {
	t.Helper()
	database := postgrestest.Start(t)
	w := &replicated{T: t, url: database.Create(t, "ledger"), patience: 5 * time.Minute}
	dir := t.TempDir()
	for i := range planes {
		w.planes = append(w.planes, fmt.Sprintf("platform/cp-%d", i))
	}
	for i := range environments {
		w.environments = append(w.environments, fmt.Sprintf("env-%02d", i))
	}
	for _, plane := range w.planes {
		for _, repo := range []string{plane, plane + "-gitops", plane + "-apps"} {
			if out, err := fleettest.Git("init", "-q", "--bare", "-b", "main", filepath.Join(dir, repo+".git")).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	w.gitea = fleettest.NewGitea(t, dir)
	w.gitea.Config.Handler = w.merging(w.gitea.Config.Handler, dir)
	w.fleet = fleettest.New(t, w.gitea.URL, dir)
	w.fleet.Host = w.gitea.As(giteatest.Token)
	for _, plane := range w.planes {
		w.pushFleet(plane)
	}
	var err error
	if w.ledger, err = postgres.Open(t.Context(), w.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ledger.Close() })
	for i := range servers {
		w.replicas = append(w.replicas, w.newProcess(fmt.Sprintf("replica-%d", i)))
	}
	return w
}

// merging moves the base branch in Git when a pull request was merged in the fake, which only does so in memory. The answer is sent
// afterwards: who has it finds the branch moved.
func (w *replicated) merging(next http.Handler, dir string) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/merge") || r.Method != http.MethodPost {
			next.ServeHTTP(out, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		defer func() {
			out.WriteHeader(answer.Code)
			_, _ = out.Write(answer.Body.Bytes())
		}()
		w.gitea.World.Lock()
		defer w.gitea.World.Unlock()
		parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/repos/"), "/")
		path := parts[0] + "/" + parts[1]
		for _, c := range w.gitea.World.Repo(path).PullRequests {
			if fmt.Sprint(c.Number) != parts[3] || c.State != forge.Merged {
				continue
			}
			if text, err := fleettest.Git("-C", filepath.Join(dir, path+".git"), "update-ref", "refs/heads/"+c.Base.Branch, c.Head.Commit).CombinedOutput(); err != nil {
				w.Errorf("merge: %v: %s", err, text)
			}
		}
	})
}

const (
	replicaTemplates = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec:
  type: reconciler
  manifests:
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: rollout, namespace: {{ quote .Namespace }}}
    data: {rollout: "round-%d"}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: default}
spec:
  type: namespace
  manifests:
  - |
    apiVersion: v1
    kind: Namespace
    metadata: {name: {{ quote .Namespace }}}
`
	replicaRegistration = kalypsoAPI + "kind: WorkloadRegistration\nmetadata: {name: shop}\nspec:\n  workload: {repo: APPS, branch: main, path: .}\n  workspace: shop\n"
	replicaPolicy       = kalypsoAPI + "kind: SchedulingPolicy\nmetadata: {name: all}\nspec:\n  deploymentTargetSelector: {workspace: shop}\n  clusterTypeSelector: {labelSelector: {}}\n"
)

// pushFleet pushes a control plane: one workload with a target in each environment.
func (w *replicated) pushFleet(plane string) {
	w.Helper()
	name := strings.TrimPrefix(plane, "platform/")
	workload := kalypsoAPI + "kind: Workload\nmetadata: {name: shop}\nspec:\n  deploymentTargets:\n"
	main := map[string]string{
		"templates.yaml":    fmt.Sprintf(replicaTemplates, 1),
		"registration.yaml": strings.ReplaceAll(replicaRegistration, "APPS", "../"+name+"-apps"),
	}
	for _, e := range w.environments {
		workload += fmt.Sprintf("  - {name: %s, environment: %s, manifests: {repo: \"https://example.com/shop\", branch: %s, path: .}}\n", e, e, e)
		main[".environments/"+e+".yaml"] = environmentFile(e, "{}")
	}
	w.fleet.Push(plane+"-apps", "main", map[string]string{"workload.yaml": workload})
	first := w.fleet.Push(plane, "main", main)
	for _, e := range w.environments {
		w.fleet.Push(plane, e, map[string]string{
			"base-repo.yaml":   strings.ReplaceAll(baseRepoFile, "COMMIT", first),
			"gitops-repo.yaml": strings.ReplaceAll(strings.ReplaceAll(gitOpsRepoFile, "NAME", e), "../gitops", "../"+name+"-gitops"),
			"types.yaml":       clusterTypeFile + "---\n" + replicaPolicy,
		})
	}
}

// change changes all environments.
func (w *replicated) change(round int) {
	w.Helper()
	for _, plane := range w.planes {
		w.fleet.Push(plane, "main", map[string]string{"templates.yaml": fmt.Sprintf(replicaTemplates, round)})
	}
}

// published returns how many environments have a round's files.
func (w *replicated) published(round int) int {
	w.Helper()
	n := 0
	for _, plane := range w.planes {
		for _, e := range w.environments {
			for _, content := range w.fleet.Files(plane+"-gitops", e) {
				if strings.Contains(content, fmt.Sprintf("round-%d\"", round)) {
					n++
				}
			}
		}
	}
	return n
}

// await waits until some environments have a round's files: other processes write them, so there is nothing to wait for but the result.
func (w *replicated) await(round, environments int) {
	w.Helper()
	w.until(fmt.Sprintf("round %d is published in %d environments", round, environments), func() bool { return w.published(round) >= environments })
}

// until waits until something is so.
func (w *replicated) until(what string, so func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), w.patience)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			w.Fatalf("never: %s\n%s", what, w.logs())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *replicated) all() int { return len(w.planes) * len(w.environments) }

func (w *replicated) newProcess(name string) *process {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	p := &process{w: w, name: name, address: listener.Addr().String(), config: filepath.Join(w.TempDir(), name+".yaml")}
	if err := listener.Close(); err != nil {
		w.Fatal(err)
	}
	text := fmt.Sprintf("listen: %s\ndata: %s\nledger: %q\nlocalForge: false\nforges: [{url: %q, kind: gitea, tokenEnv: TOKEN}]\ncontrolPlanes:\n",
		p.address, filepath.Join(w.TempDir(), name), w.url, w.gitea.URL)
	for _, plane := range w.planes {
		text += "- " + w.gitea.URL + "/" + plane + "\n"
	}
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.w.Helper()
	log, err := os.OpenFile(p.config+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.w.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the process has its own handle
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), replicaVariable+"="+p.config)
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		p.w.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(p.cmd, p.ended)
}

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.w.Error(err)
	}
	p.paused = s == syscall.SIGSTOP
}

// kill kills the process if it runs.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		p.cmd, p.paused = nil, false
	}
}

// logs returns the ends of the logs of all replicas.
func (w *replicated) logs() string {
	var all strings.Builder
	for _, p := range w.replicas {
		text, _ := os.ReadFile(p.config + ".log")
		lines := strings.Split(string(text), "\n")
		fmt.Fprintf(&all, "--- %s\n%s\n", p.name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return all.String()
}

// check checks what holds whatever happened: one pull request for each change of an environment, and no step twice.
func (w *replicated) check(rounds int) {
	w.Helper()
	for _, plane := range w.planes {
		repo, err := w.fleet.Host.Repository(w.gitea.URL + "/" + plane + "-gitops")
		if err != nil {
			w.Fatal(err)
		}
		all, err := repo.FindPullRequests(w.Context(), forge.PullRequestFilter{})
		if err != nil {
			w.Fatal(err)
		}
		count := map[string]int{}
		for _, c := range all {
			count[c.Base.Branch]++
			if c.State != forge.Merged {
				w.Errorf("pull request %d of %s is %s", c.Number, c.Base.Branch, c.State)
			}
		}
		for _, e := range w.environments {
			if count[e] != rounds {
				w.Errorf("%s of %s has %d pull requests, want one for each of %d rounds", e, plane, count[e], rounds)
			}
		}
	}
	steps, err := w.ledger.Steps(w.Context(), ledger.StepQuery{})
	if err != nil {
		w.Fatal(err)
	}
	seen := map[string]int{}
	for _, s := range steps {
		if s.Kind == "started" {
			seen[fmt.Sprint(s.PromotionID, s.Kind)]++
		}
	}
	for step, n := range seen {
		if n > 1 {
			w.Errorf("step %s was recorded %d times", step, n)
		}
	}
	if len(seen) == 0 {
		w.Errorf("no steps were recorded: %v", steps)
	}
}

// units returns how many environments a replica holds, by its name.
func (w *replicated) units() map[string]int {
	w.Helper()
	holds, err := w.ledger.Holds(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	n := map[string]int{}
	for _, h := range holds {
		if strings.HasPrefix(h.Unit, "environment ") {
			n[h.Replica]++
		}
	}
	return n
}

// takenOver waits until one replica holds all environments that are held, and has begun with all.
func (w *replicated) takenOver() {
	w.Helper()
	w.until("one replica has all environments", func() bool {
		units := w.units()
		return len(units) == 1 && slices.Contains(slices.Collect(maps.Values(units)), w.all())
	})
}

// TestReplicas: servers that share a ledger share the work, and take over that of others that are killed or paused.
func TestReplicas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs several servers until leases expire")
	}
	w := newReplicated(t, 3, 1, 6)
	for _, p := range w.replicas {
		p.start()
	}
	w.await(1, w.all())
	w.until("the work is shared", func() bool { return len(w.units()) > 1 })
	w.anyReplicaAnswers()

	// In the middle of a change, one is killed, and another one is paused.
	w.change(2)
	w.await(2, 1)
	w.replicas[0].kill()
	w.replicas[1].signal(syscall.SIGSTOP)
	w.takenOver() // nothing but the end of their leases tells the last one
	w.await(2, w.all())

	// It wakes up, and the other one is started again.
	w.replicas[1].signal(syscall.SIGCONT)
	w.replicas[0].start()
	w.change(3)
	w.await(3, w.all())
	w.check(3)
	if t.Failed() {
		t.Log(w.logs())
	}
}

// chaosVariable is for how long TestReplicasInChaos runs.
const chaosVariable = "KALYPSO_CHAOS"

// TestReplicasInChaos kills and pauses replicas at random. It runs for as long as KALYPSO_CHAOS says, such as 5m.
func TestReplicasInChaos(t *testing.T) {
	t.Parallel()
	length, err := time.ParseDuration(os.Getenv(chaosVariable))
	if err != nil {
		t.Skipf("set %s to a duration", chaosVariable)
	}
	w := newReplicated(t, 4, 4, 50)
	w.patience = 10 * time.Minute
	for _, p := range w.replicas {
		p.start()
	}
	w.await(1, w.all())
	round := 1
	for end := time.Now().Add(length); time.Now().Before(end); {
		round++
		w.change(round)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 4 {
				w.disturb()
				time.Sleep(time.Duration(rand.IntN(6000)) * time.Millisecond)
			}
			for _, p := range w.replicas {
				if p.paused {
					p.signal(syscall.SIGCONT)
				}
			}
		}()
		w.await(round, w.all())
		<-done
		t.Logf("round %d: %v", round, w.units())
	}
	w.check(round)
	if t.Failed() {
		t.Log(w.logs())
	}
}

// disturb kills, starts, pauses or wakes a replica. One always works.
func (w *replicated) disturb() {
	p := w.replicas[rand.IntN(len(w.replicas))]
	works := slices.DeleteFunc(slices.Clone(w.replicas), func(p *process) bool { return p.cmd == nil || p.paused })
	switch {
	case p.cmd == nil:
		p.start()
	case p.paused:
		p.signal(syscall.SIGCONT)
	case len(works) < 2:
	case rand.IntN(2) == 0:
		p.kill()
	default:
		p.signal(syscall.SIGSTOP)
	}
}
