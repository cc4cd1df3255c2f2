package promoting_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promoting"
)

func TestWordsAreChecked(t *testing.T) {
	l := openLedger(t)
	c := &promoting.Control{Ledger: l, Now: func() time.Time { return noon }}
	right := promoting.Word{Subject: controlPlane, Environment: "dev", Commit: sha("one"), By: "anna", Why: "an incident"}
	for name, spoil := range map[string]func(*promoting.Word){
		"no subject":            func(w *promoting.Word) { w.Subject = "" },
		"no environment":        func(w *promoting.Word) { w.Environment = "../dev" },
		"nobody":                func(w *promoting.Word) { w.By = " " },
		"a short commit":        func(w *promoting.Word) { w.Commit = "abc1234" },
		"no commit":             func(w *promoting.Word) { w.Commit = "" },
		"a commit with a quote": func(w *promoting.Word) { w.Commit = strings.Repeat("'", 40) },
	} {
		w := right
		spoil(&w)
		if err := c.Order(t.Context(), w); !errors.Is(err, promoting.ErrInvalid) {
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
		Kind:        "ordered", By: "anna", Reason: "line break [31m https://x/", At: noon,
	}}
	if diff := cmp.Diff(want, steps); diff != "" || err != nil {
		t.Errorf("steps (-want +got):\n%s%v", diff, err)
	}
}
