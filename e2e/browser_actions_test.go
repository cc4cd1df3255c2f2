package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestActions: a person steers an environment from its page, sees before what it will do, and afterwards that it was done.
// The last part goes without scripts.
func TestActions(t *testing.T) {
	axe, err := harness.Axe(t.Context())
	must(t, err)
	s := showSample(t)
	b := newBrowser(t)
	tab := s.open(t, b, views[0])
	must(t, tab.Visit(s.url+"/environments/dev"))
	must(t, tab.Click(`a[href^="/environments/dev/pause"]`))
	violations, err := tab.Check(axe)
	must(t, err)
	for _, v := range violations {
		t.Error(v)
	}
	must(t, tab.Shoot(filepath.Join(pictures(), "sample", "light", "pause.png")))
	_, err = harness.Eval[bool](tab, `document.getElementById("why").value = "sale <b>until</b> Monday"; true`)
	must(t, err)
	must(t, tab.Click(`form[method=post] button`))
	s.wantSaid(t, tab, "dev is paused")
	must(t, tab.Shoot(filepath.Join(pictures(), "sample", "light", "paused.png")))
	s.wantPaused(t, "sale <b>until</b> Monday")
	must(t, tab.Visit(s.url+"/environments/dev"))
	if text, err := tab.Text(".notice"); err != nil || text != "" {
		t.Errorf("it is said again: %q (%v)", text, err)
	}

	commit := s.current(t, "dev")
	for _, page := range []string{"/environments/stage/promote?commit=" + commit, "/environments/stage/rollback", "/environments/dev/abort"} {
		must(t, tab.Visit(s.url+page))
		violations, err := tab.Check(axe)
		must(t, err)
		for _, v := range violations {
			t.Errorf("%s: %s", page, v)
		}
		must(t, tab.Shoot(filepath.Join(pictures(), "sample", "light", nameOf(page)+".png")))
	}
	if complaints := tab.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}

	plain := s.open(t, b, views[2])
	must(t, plain.WithoutScripts())
	eventually(t, "the page offers to resume", func(context.Context) error {
		if err := plain.Visit(s.url + "/environments/dev"); err != nil {
			return err
		}
		text, err := plain.Text(`a[href^="/environments/dev/resume"]`)
		if err == nil && text == "" {
			err = fmt.Errorf("it does not")
		}
		return err
	})
	must(t, plain.Click(`a[href^="/environments/dev/resume"]`))
	must(t, plain.Click(`form[method=post] button`))
	s.wantSaid(t, plain, "dev is resumed")
	s.wantPaused(t, "")
}

func (s *shown) wantSaid(t *testing.T, tab *harness.Tab, want string) {
	t.Helper()
	if text, err := tab.Text(".notice"); err != nil || !strings.Contains(text, want) {
		t.Errorf("it says %q, want %q (%v)", text, want, err)
	}
}

// wantPaused waits until dev is paused with a reason, or not paused.
func (s *shown) wantPaused(t *testing.T, why string) {
	t.Helper()
	eventually(t, "dev is paused or not", func(context.Context) error {
		var dev struct{ Paused *struct{ Why string } }
		if err := json.Unmarshal([]byte(s.ask(t, "/environments/dev", "application/json")), &dev); err != nil {
			return err
		}
		got := ""
		if dev.Paused != nil {
			got = dev.Paused.Why
		}
		if got != why {
			return fmt.Errorf("paused with %q, want %q", got, why)
		}
		return nil
	})
}

// current is the commit that is promoted in an environment.
func (s *shown) current(t *testing.T, environment string) string {
	t.Helper()
	var e struct{ Commit string }
	must(t, json.Unmarshal([]byte(s.ask(t, "/environments/"+environment, "application/json")), &e))
	return e.Commit
}
