package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestMerge: the pull request for stage is merged from its page, after its plan was seen there, and clusters come
// to run it. Then a rollback says what it would do.
func TestMerge(t *testing.T) {
	axe, err := harness.Axe(t.Context())
	must(t, err)
	s := showSample(t)
	tab := s.open(t, newBrowser(t), views[0])
	shoot := func(name string) {
		t.Helper()
		violations, err := tab.Check(axe)
		must(t, err)
		for _, v := range violations {
			t.Errorf("%s: %s", name, v)
		}
		must(t, tab.Shoot(filepath.Join(pictures(), "sample", "light", name+".png")))
	}
	eventually(t, "a pull request for stage is offered", func(context.Context) error {
		if err := tab.Visit(s.url + "/environments/stage"); err != nil {
			return err
		}
		text, err := tab.Text(`a[href^="/environments/stage/merge"]`)
		if err == nil && text == "" {
			err = fmt.Errorf("it is not")
		}
		return err
	})
	must(t, tab.Click(`a[href^="/environments/stage/merge"]`))
	shoot("merge")
	if text, err := tab.Text("table.plan"); err != nil || text == "" {
		t.Errorf("it does not show what it will do (%v)", err)
	}
	_, err = harness.Eval[bool](tab, `document.getElementById("why").value = "looked at <i>all</i> of it"; true`)
	must(t, err)
	must(t, tab.Click(`form[method=post] button`))
	s.wantSaid(t, tab, "is merged")
	shoot("merged")
	eventually(t, "stage is deployed", func(context.Context) error {
		var stage struct{ Phase, Reason string }
		if err := json.Unmarshal([]byte(s.ask(t, "/environments/stage", "application/json")), &stage); err != nil {
			return err
		}
		if stage.Phase != "good" {
			return fmt.Errorf("it is %s: %s", stage.Phase, stage.Reason)
		}
		return nil
	})
	must(t, tab.Visit(s.url+"/environments/stage/promote?commit="+s.current(t, "dev")))
	shoot("promote-with-plan")
	must(t, tab.Visit(s.url+"/promotions/"+s.current(t, "stage")))
	shoot("promotion-deployed")
	if complaints := tab.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// TestPlanPage: a form asks what a branch would do, and the page has an address of its own.
func TestPlanPage(t *testing.T) {
	s := showSample(t)
	tab := s.open(t, newBrowser(t), views[2])
	must(t, tab.WithoutScripts())
	must(t, tab.Visit(s.url+"/plan"))
	must(t, tab.Click(`form.asks:nth-last-of-type(2) button`))
	if text, err := tab.Text("h1"); err != nil || text != "Pending changes in dev" {
		t.Errorf("got %q (%v)", text, err)
	}
	must(t, tab.Shoot(filepath.Join(pictures(), "sample", "phone", "plan-asked.png")))
}
