package query_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// TestControlPlanesWithOneName checks that if two control planes have environments with the same name, the query must
// name the control plane.
func TestControlPlanesWithOneName(t *testing.T) {
	plane := func(url, commit string) query.ControlPlane {
		return query.ControlPlane{URL: url, Promotion: &promote.Outcome{Environments: []promote.Standing{
			{Environment: "dev", Commit: commit, Verdict: comply.Verdict{Commit: "of " + url}},
			{Environment: "only-" + url, Commit: commit},
		}}}
	}
	o := &query.Observer{Ledger: newWorld(t).Ledger, Fleet: planes{plane("a", "1"), plane("b", "2")}, Now: time.Now}
	page, err := o.Environments(t.Context(), query.EnvironmentsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Items {
		line := e.ControlPlane + "/" + e.Name + "@" + e.Commit
		if e.Gate != nil {
			line += " " + e.Gate.Commit
		}
		got = append(got, line)
	}
	if want := "a/dev@1 of a; a/only-a@1; b/dev@2 of b; b/only-b@2"; strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "; "), want)
	}
	if _, err := o.Environment(t.Context(), query.EnvironmentQuery{Name: "dev"}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("dev of which: %v", err)
	}
	dev, err := o.Environment(t.Context(), query.EnvironmentQuery{Name: "dev", ControlPlane: "b"})
	if err != nil || dev.Commit != "2" || dev.Gate.Commit != "of b" {
		t.Errorf("dev of b: %+v, %v", dev.Environment, err)
	}
	if n := len(o.Standings()); n != 4 {
		t.Errorf("got %d standings", n)
	}
}
