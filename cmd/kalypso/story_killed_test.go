package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// killings are when the server is killed on the way of a commit, in their order: when the environment's branch names it, when
// the GitOps branch has its manifests, and at each kind of step that comes into the ledger.
var killings = []struct {
	environment string
	step        decide.StepKind
}{
	{"dev", "moved"},
	{"dev", "merged"},
	{"dev", decide.Entered},
	{"dev", promote.Published},
	{"stage", "moved"},
	{"stage", promote.Shown},
	{"stage", decide.Arrived},
	{"stage", promote.Decided},
	{"prod", "merged"},
	{"prod", decide.Arrived},
}

// TestStoryOfAServerThatIsKilled again and again during a promotion, as processes are, while clusters go on to report:
// the commit arrives, and everything was done once.
func TestStoryOfAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	config := s.config()
	server := s.start(config)
	defer func() { server.kill() }()
	s.open()
	s.join(nil)
	s.arrives(s.Head(fleettest.ControlPlane, "main"), storyEnvironments...)
	eyes := s.watcher()
	before := map[string]string{}
	for _, environment := range storyEnvironments {
		before[environment] = eyes.Head(fleettest.GitOps, environment)
	}
	commit := s.commit("one")
	for _, k := range killings {
		s.await(func() bool {
			switch k.step {
			case "moved":
				return strings.Contains(eyes.Files(fleettest.ControlPlane, k.environment)["base-repo.yaml"], commit)
			case "merged":
				return eyes.Head(fleettest.GitOps, k.environment) != before[k.environment]
			}
			return len(eyes.steps(ledger.StepQuery{Commit: commit, Environment: k.environment, Kind: string(k.step)})) > 0
		}, fmt.Sprintf("%s in %s", k.step, k.environment), server)
		server.kill()
		server = s.start(config)
		s.open()
	}
	s.arrives(commit, storyEnvironments...)
	s.tells("history environment prod", commit[:7])
	s.wantOnce(eyes, commit)
}

// wantOnce wants a commit to have gone through every environment once, with one merged change for each.
// A status may be shown a round before the step that it tells of is on record.
func (s *story) wantOnce(eyes *watcher, commit string) {
	s.Helper()
	s.until("everything is done once", func() error {
		once := s.times(eyes, commit)
		want := maps.Clone(once)
		for what := range want {
			want[what] = 1
		}
		if diff := cmp.Diff(want, once); diff != "" {
			return fmt.Errorf("what was done, and how often (-want +got):\n%s", diff)
		}
		return nil
	})
}

// times counts what was done about a commit in every environment.
func (s *story) times(eyes *watcher, commit string) map[string]int {
	s.Helper()
	once := map[string]int{}
	for _, environment := range storyEnvironments {
		for _, kind := range []decide.StepKind{decide.Entered, promote.Published, decide.Arrived} {
			once[environment+" "+string(kind)] = len(eyes.steps(ledger.StepQuery{Commit: commit, Environment: environment, Kind: string(kind)}))
		}
		once[environment+" changed"] = 0
	}
	once["no change is open"] = 1
	for _, c := range s.PullRequests() {
		if c.State == forge.Open {
			once["no change is open"] = 0
		}
		for _, environment := range storyEnvironments {
			if strings.HasPrefix(c.Title, environment+": ") && strings.HasSuffix(c.Title, " changed") {
				once[environment+" changed"]++
			}
		}
	}
	return once
}

// watcher looks at the repositories and the ledger of a server, whether it runs or not.
type watcher struct {
	*fleettest.Fleet
	ledger *sqlite.Ledger
}

func (s *story) watcher() *watcher {
	s.Helper()
	book, err := sqlite.Open(s.Context(), filepath.Join(s.data, "ledger.db"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = book.Close() })
	direct := fleettest.New(s, s.URL, s.Dir)
	direct.Host, direct.Notify = s.Host, s.Notify
	return &watcher{direct, book}
}

func (w *watcher) steps(q ledger.StepQuery) []ledger.Step {
	w.Helper()
	steps, err := w.ledger.Steps(w.Context(), q)
	if err != nil {
		w.Fatal(err)
	}
	return steps
}

// running is a server that is a process of its own.
type running struct {
	cmd *exec.Cmd
	log lockedBuffer
}

// start starts the server as a process. It need not be ready yet.
func (s *story) start(config string) *running {
	s.Helper()
	r := &running{cmd: exec.Command("kalypso", "serve", "--config", config)}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = s.environment(), &r.log, &r.log
	if err := r.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return r
}

// kill ends the process at once. To kill it again does nothing.
func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// await looks often, so that little happens after what is waited for.
func (s *story) await(happened func() bool, what string, server *running) {
	s.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		if happened() {
			return
		}
	}
	_, status := s.say("status")
	s.Fatalf("%s: not within %s\n%s\n%s", what, patience, status, &server.log)
}
