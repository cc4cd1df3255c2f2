package promote_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

func TestWordsAreChecked(t *testing.T) {
	l := openLedger(t)
	c := &promote.Control{Ledger: l, Now: func() time.Time { return noon }}
	right := promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), By: "anna", Why: "an incident"}
	for name, spoil := range map[string]func(*promote.Command){
		"no subject":            func(w *promote.Command) { w.Subject = "" },
		"no environment":        func(w *promote.Command) { w.Environment = "../dev" },
		"nobody":                func(w *promote.Command) { w.By = " " },
		"a short commit":        func(w *promote.Command) { w.Commit = "abc1234" },
		"no commit":             func(w *promote.Command) { w.Commit = "" },
		"a commit with a quote": func(w *promote.Command) { w.Commit = strings.Repeat("'", 40) },
	} {
		w := right
		spoil(&w)
		if err := c.Order(t.Context(), w); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	hostile := right
	hostile.Subject = "https://anna:hunter2@git.example/platform/control-plane.git"
	hostile.Commit, hostile.Why = strings.ToUpper(sha("one")), "line\nbreak\x1b[31m https://u:hunter2@x/"
	if err := c.Order(t.Context(), hostile); err != nil {
		t.Fatal(err)
	}
	steps, err := l.Steps(t.Context(), ledger.StepQuery{})
	want := []ledger.Step{{
		PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: sha("one"), Environment: "dev"},
		Kind:        "requested", By: "anna", Reason: "line break [31m https://x/", At: noon,
	}}
	if diff := cmp.Diff(want, steps); diff != "" || err != nil {
		t.Errorf("steps (-want +got):\n%s%v", diff, err)
	}
}

// branches maps commits to whether main contains them. Other commits return an error.
type branches map[string]bool

func (b branches) Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error) {
	if branch != (schedule.Location{Repo: controlPlane, Branch: "main"}) {
		return false, fmt.Errorf("asked for %+v", branch)
	}
	on, ok := b[commit]
	if !ok {
		return false, errors.New("the repository does not answer")
	}
	return on, ctx.Err()
}

func TestOrdersAreForCommitsOfMain(t *testing.T) {
	l := openLedger(t)
	c := &promote.Control{Ledger: l, Now: func() time.Time { return noon }, Branches: branches{sha("one"): true, sha("lost"): false}}
	word := func(commit string) promote.Command {
		return promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha(commit), By: "anna"}
	}
	for _, commit := range []string{"one", "unheard"} {
		if err := c.Order(t.Context(), word(commit)); err != nil {
			t.Errorf("%s: %v", commit, err)
		}
	}
	err := c.Order(t.Context(), word("lost"))
	if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), sha("lost")+` is not on branch "main" of `+controlPlane) {
		t.Errorf("a commit that main does not have: %v", err)
	}
	if err := c.Abort(t.Context(), word("lost")); err != nil {
		t.Errorf("giving it up: %v", err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if err := c.Order(gone, word("one")); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for the answer: %v", err)
	}
	steps, err := l.Steps(t.Context(), ledger.StepQuery{Kind: "requested"})
	if len(steps) != 2 || err != nil {
		t.Errorf("orders: %v, %v; want those of the commits of main and of what nobody knows", steps, err)
	}
}
