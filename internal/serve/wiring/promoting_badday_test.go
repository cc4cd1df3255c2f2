package wiring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// thereAndBack promotes a commit to stage automatically, and rolls back one that fails there.
var thereAndBack = map[string]string{"dev": "{}", "stage": "{after: [dev], approval: pullRequest, onFailure: rollback}"}

// live is the story of these tests: a commit is deployed everywhere, and the next one fails in stage.
// calm is called where the story waits until promotion has nothing left to do.
func (w *promotionWorld) live(calm func()) {
	w.Helper()
	calm()
	w.commit("one")
	calm()
	w.approve()
	calm()
	w.commit("two")
	calm()
	w.approve()
	w.cluster("stage-1").fails = "Deployment shop/cart: image not found"
	calm()
}

// TestPromotionEndsTheSameWhereverItWasInterrupted kills the process after each write, and starts it again.
func TestPromotionEndsTheSameWhereverItWasInterrupted(t *testing.T) {
	t.Parallel()
	whole := newPromotionWorld(t, thereAndBack)
	var writes []string
	whole.writes.after = func(name string) error { writes = append(writes, name); return nil }
	whole.live(func() { whole.quiet() })
	want := whole.story()
	if len(writes) < 25 || !strings.Contains(want, "Take stage back") {
		t.Fatalf("%d writes: %v\n%s", len(writes), writes, want)
	}
	var sweep []int // the first and the last write of each kind
	for n := range writes {
		if !slices.Contains(writes[:n], writes[n]) || !slices.Contains(writes[n+1:], writes[n]) {
			sweep = append(sweep, n)
		}
	}
	for _, i := range sweeptest.Points(t, len(sweep)) {
		n := sweep[i]
		t.Run(fmt.Sprintf("%d %s", n, writes[n]), func(t *testing.T) {
			t.Parallel()
			w := newPromotionWorld(t, thereAndBack)
			name := w.crashed(n)
			w.live(func() {
				for *name == "" {
					o, err := w.minute()
					if err != nil && !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
					if err == nil && len(o.Did) == 0 {
						break
					}
				}
				if *name != "" {
					w.reboot()
				}
				w.quiet()
			})
			if *name == "" {
				t.Fatal("it was not interrupted")
			}
			if diff := cmp.Diff(want, w.story()); diff != "" {
				t.Errorf("another end than without interruption (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTwoPromotersAtOnce checks that two promoters with one ledger and one forge lead to the same state as one.
func TestTwoPromotersAtOnce(t *testing.T) {
	t.Parallel()
	alone := newPromotionWorld(t, thereAndBack)
	alone.live(func() { alone.quiet() })
	w := newPromotionWorld(t, thereAndBack)
	other := w.newPromoter()
	w.live(func() {
		for range 12 {
			if _, err := w.minute(); err != nil && !errors.Is(err, forge.ErrConflict) {
				t.Log(err)
			}
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() { _, _ = other.Round(t.Context(), w.pipeline()) }) // the slower one may fail, and tries again
				wait.Go(func() { _, _ = w.promoter.Round(t.Context(), w.pipeline()) })
			}
			wait.Wait()
		}
		w.quiet()
	})
	if diff := cmp.Diff(alone.changesOnly(), w.changesOnly()); diff != "" {
		t.Errorf("another end than alone (-want +got):\n%s", diff)
	}
}

// changesOnly returns the story without the ledger, which may contain a step twice.
func (w *promotionWorld) changesOnly() string {
	var lines []string
	for line := range strings.Lines(w.story()) {
		if before, _, ok := strings.Cut(line, ": started"); ok {
			line = before + "\n"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// failing is a forge that fails one request.
type failing struct {
	forge.Forge
	left *int
	name *string
}

type failingRepository struct {
	forge.Repository
	failing
}

var errForge = errors.New("the forge is away")

func (f failing) Repository(url string) (forge.Repository, error) {
	repo, err := f.Forge.Repository(url)
	return failingRepository{repo, f}, err
}

func (f failing) ask(name string) error {
	if *f.left--; *f.left == 0 {
		*f.name = name
		return errForge
	}
	return nil
}

func (r failingRepository) FindPullRequests(ctx context.Context, q forge.PullRequestFilter) ([]forge.PullRequest, error) {
	if err := r.ask("find"); err != nil {
		return nil, err
	}
	return r.Repository.FindPullRequests(ctx, q)
}

func (r failingRepository) OpenPullRequest(ctx context.Context, c forge.NewPullRequest) (forge.PullRequest, error) {
	if err := r.ask("open"); err != nil {
		return forge.PullRequest{}, err
	}
	return r.Repository.OpenPullRequest(ctx, c)
}

func (r failingRepository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if err := r.ask("edit"); err != nil {
		return err
	}
	return r.Repository.EditPullRequest(ctx, number, e)
}

func (r failingRepository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	if err := r.ask("set status"); err != nil {
		return err
	}
	return r.Repository.SetStatus(ctx, commit, s)
}

func (r failingRepository) UpsertComment(ctx context.Context, change int, marker, body string) (forge.Comment, error) {
	if err := r.ask("comment"); err != nil {
		return forge.Comment{}, err
	}
	return r.Repository.UpsertComment(ctx, change, marker, body)
}

// TestPromotionEndsTheSameWhicheverRequestFails fails each of promotion's requests to the forge in turn.
func TestPromotionEndsTheSameWhicheverRequestFails(t *testing.T) {
	t.Parallel()
	// live fails a request, and returns its name and how many requests come after it.
	live := func(w *promotionWorld, failed int) (name string, after int) {
		left := failed
		w.live(func() {
			idle := 0
			for range 60 {
				o, err := w.minuteThrough(failing{w.Host, &left, &name})
				if err != nil && !errors.Is(err, errForge) {
					w.Fatal(err)
				}
				if idle++; err != nil || len(o.Did) > 0 || strings.Contains(fmt.Sprint(o.Environments), errForge.Error()) {
					idle = 0
				}
				if idle == 2 {
					return
				}
			}
			w.Fatal("it does not come to rest")
		})
		return name, -left
	}
	whole := newPromotionWorld(t, thereAndBack)
	_, requests := live(whole, 0)
	want := whole.story()
	if requests < 60 {
		t.Fatalf("only %d requests", requests)
	}
	var sweep []int
	for n := 1; n <= requests; n += 1 + n/2 { // most later requests are like earlier ones
		sweep = append(sweep, n)
	}
	for _, i := range sweeptest.Points(t, len(sweep)) {
		n := sweep[i]
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newPromotionWorld(t, thereAndBack)
			name, _ := live(w, n)
			if diff := cmp.Diff(want, w.story()); diff != "" {
				t.Errorf("%s: another end than without the failure (-want +got):\n%s", name, diff)
			}
		})
	}
}

// TestAForcedPush checks that history is kept, that the reason is shown, and that a new commit is promoted.
func TestAForcedPush(t *testing.T) {
	t.Parallel()
	t.Run("of main", func(t *testing.T) {
		t.Parallel()
		w := newPromotionWorld(t, map[string]string{"dev": "{}", "stage": "{after: [dev]}"})
		w.commit("one")
		lost := w.commit("two")
		o := w.quiet()
		w.want(o, "stage", decide.Good, lost)
		w.restartBranch("main", map[string]string{"notes.md": "again\n"})
		o, err := w.minute()
		if err != nil {
			t.Fatal(err)
		}
		if s := standing(o, "stage"); !strings.Contains(s.Reason, "pushed over") {
			t.Errorf("stage: %s", s.Reason)
		}
		o = w.quiet()
		again := w.Head(fleettest.ControlPlane, "main")
		w.want(o, "dev", decide.Good, again)
		w.want(o, "stage", decide.Good, again)
		if !strings.Contains(strings.Join(w.steps("stage"), " "), "deployed "+lost[:7]) {
			t.Errorf("the history is lost: %v", w.steps("stage"))
		}
	})
	t.Run("of the GitOps branch", func(t *testing.T) {
		t.Parallel()
		w := newPromotionWorld(t, map[string]string{"dev": "{}"})
		commit := w.commit("one")
		w.quiet()
		w.world.restart(fleettest.GitOps, "dev", map[string]string{"README.md": "somebody began again\n"})
		o := w.quiet()
		w.want(o, "dev", decide.Good, commit)
	})
}

// restartBranch replaces a branch of the control plane with a commit without history that has the same environments.
func (w *promotionWorld) restartBranch(branch string, files map[string]string) {
	w.Helper()
	for path, content := range w.Files(fleettest.ControlPlane, branch) {
		if _, ok := files[path]; !ok {
			files[path] = content
		}
	}
	w.world.restart(fleettest.ControlPlane, branch, files)
}

// TestRemovedEnvironment checks that after an environment is renamed or removed, other environments are not affected, and
// that the next ones wait with a reason.
func TestRemovedEnvironment(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, map[string]string{"dev": "{}", "stage": "{after: [dev]}", "prod": "{after: [stage]}"})
	old := w.commit("one")
	w.want(w.quiet(), "prod", decide.Good, old)
	w.Push(fleettest.ControlPlane, "main", map[string]string{
		".environments/stage.yaml": "", ".environments/qa.yaml": strings.Replace(environmentFile("qa", "{after: [dev]}"), "branch: qa", "branch: stage", 1),
	})
	head := w.Head(fleettest.ControlPlane, "main")
	w.join("qa-1", "qa").branch = "stage"
	o := w.quiet()
	w.want(o, "dev", decide.Good, head)
	w.want(o, "qa", decide.Good, head)
	w.want(o, "prod", decide.Good, old)
	if s := standing(o, "prod"); !strings.Contains(s.Reason, `no such environment`) || len(o.Problems) == 0 {
		t.Errorf("prod: %s; problems %v", s.Reason, o.Problems)
	}
	if steps, err := w.ledger.Steps(t.Context(), ledger.StepQuery{Environment: "stage"}); err != nil || len(steps) == 0 {
		t.Errorf("the history of stage: %v, %v", steps, err)
	}
}

// TestProtectedBranch checks that a protected branch gets pull requests, whatever the rules are.
func TestProtectedBranch(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, map[string]string{"dev": "{}"})
	w.quiet()
	protector := w.Repo(fleettest.ControlPlane).(forge.Protector)
	if err := protector.Protect(t.Context(), "dev", forge.Protection{PullRequestsOnly: true}); err != nil {
		t.Fatal(err)
	}
	commit := w.commit("one")
	w.quiet()
	w.approve()
	w.want(w.quiet(), "dev", decide.Good, commit)
}
