package action_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// TestActions: a confirmed action is carried out, recorded in the audit trail under the user's name, and reported on the next page.
func TestActions(t *testing.T) {
	for name, tc := range map[string]struct {
		path  string
		shows []string
		told  string
		audit ledger.AuditEntry
	}{
		"pause": {
			"/environments/prod/pause",
			[]string{"Pause prod", "No promotion starts until", "3333333"},
			"prod is paused. No promotion starts until it is resumed.",
			ledger.AuditEntry{Action: "pause", Detail: `controlPlane="` + controlPlane + `" why="because"`},
		},
		"resume": {
			"/environments/prod/resume",
			[]string{"Resume prod"},
			"prod is resumed.",
			ledger.AuditEntry{Action: "resume", Detail: `controlPlane="` + controlPlane + `" why="because"`},
		},
		"promote": {
			"/environments/prod/promote?commit=" + next[:7],
			[]string{"Promote to prod", "4444444", "Promotion so far", "Compare"},
			"4444444 is promoted to prod next. This takes effect in a few seconds.",
			ledger.AuditEntry{Action: "promote", Detail: `controlPlane="` + controlPlane + `" commit="` + next + `" why="because"`},
		},
		"abort": {
			"/environments/prod/abort",
			[]string{"Abort a commit in prod", "3333333"},
			"3333333 is aborted in prod.",
			ledger.AuditEntry{Action: "abort", Detail: `controlPlane="` + controlPlane + `" commit="` + present + `" why="because"`},
		},
		"approve": {
			"/environments/prod/approve?check=release",
			[]string{"Approve a commit in prod", "release", "0 of 1 approvals"},
			"3333333 is approved in prod.",
			ledger.AuditEntry{Action: "approve", Detail: `controlPlane="` + controlPlane + `" commit="` + present + `" check="release" why="because"`},
		},
		"roll back": { // the one in between failed
			"/environments/prod/rollback",
			[]string{"Roll back prod", "1111111"},
			"prod rolls back to 1111111. This takes effect in a few seconds.",
			ledger.AuditEntry{Action: "rollback", Detail: `controlPlane="` + controlPlane + `" commit="` + present + `" to="` + older + `" why="because"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser(access.Operator)
			page := b.see(tc.path)
			for _, want := range tc.shows {
				if !strings.Contains(page.text, want) {
					t.Errorf("it does not show %q:\n%s", want, page.text)
				}
			}
			a := b.confirm(tc.path)
			if a.status != http.StatusSeeOther || !strings.HasPrefix(a.to, "/environments/prod?") {
				t.Fatalf("got %d to %q:\n%s", a.status, a.to, a.text)
			}
			if got := b.see("/told").text; got != tc.told {
				t.Errorf("it says %q, want %q", got, tc.told)
			}
			trail, err := w.ledger.AuditEntries(t.Context(), ledger.AuditQuery{Limit: 10})
			must(t, err)
			if len(trail) != 1 {
				t.Fatalf("the audit trail has %v", trail)
			}
			tc.audit.By, tc.audit.Subject, tc.audit.Address = "ada (session of token operator)", "prod", "127.0.0.1"
			trail[0].At = time.Time{}
			if diff := cmp.Diff(tc.audit, trail[0]); diff != "" {
				t.Errorf("audit trail (-want +got):\n%s", diff)
			}
			if len(w.spoken) != 1 {
				t.Errorf("the rounds were notified of %q", w.spoken)
			}
		})
	}
}

func TestActionsRefuse(t *testing.T) {
	w := newWorld(t)
	const path = "/environments/prod/pause"
	operator := w.browser(access.Operator)
	good := operator.see(path).fields()
	for name, tc := range map[string]struct {
		get    func() seen
		status int
	}{
		"an anonymous user, who is asked to sign in": {func() seen { return w.browser("").see(path) }, http.StatusSeeOther},
		"an anonymous form":                          {func() seen { return w.browser("").send(path, good) }, http.StatusUnauthorized},
		"a reader":                                   {func() seen { return w.browser(access.Reader).see(path) }, http.StatusForbidden},
		"the form of a reader":                       {func() seen { return w.browser(access.Reader).send(path, good) }, http.StatusForbidden},
		"a form without its token": {func() seen {
			return operator.send(path, url.Values{"seen": {present}})
		}, http.StatusForbidden},
		"the form of another session": {func() seen { return w.browser(access.Admin).send(path, good) }, http.StatusForbidden},
		"an unknown environment":      {func() seen { return operator.see("/environments/nowhere/pause") }, http.StatusNotFound},
		"no commit": {func() seen {
			return operator.send("/environments/prod/promote", good)
		}, http.StatusUnprocessableEntity},
		"what is no commit": {func() seen {
			form := url.Values{"csrf": good["csrf"], "seen": {present}, "commit": {"<script>"}}
			return operator.send("/environments/prod/promote", form)
		}, http.StatusUnprocessableEntity},
		"a commit that is unknown": {func() seen {
			form := url.Values{"csrf": good["csrf"], "seen": {present}, "commit": {"abcdef1"}}
			return operator.send("/environments/prod/promote", form)
		}, http.StatusNotFound},
		"an environment that moved on": {func() seen {
			form := url.Values{"csrf": good["csrf"], "seen": {old}}
			return operator.send(path, form)
		}, http.StatusConflict},
	} {
		if a := tc.get(); a.status != tc.status {
			t.Errorf("%s: got %d, want %d\n%s", name, a.status, tc.status, a.text)
		} else if strings.Contains(a.text, "<script>") {
			t.Errorf("%s: it is a script now", name)
		}
	}
	trail, err := w.ledger.AuditEntries(t.Context(), ledger.AuditQuery{Limit: 10})
	must(t, err)
	if len(trail) > 0 || len(w.spoken) > 0 {
		t.Errorf("something was done: %v", trail)
	}
}

// Errors for unknown names list similar ones.
func TestActionErrorsSuggestNames(t *testing.T) {
	b := newWorld(t).browser(access.Operator)
	for path, want := range map[string]string{
		"/environments/nowhere/pause":                "known are dev, prod",
		"/environments/prod/pause?controlPlane=nope": "known are " + controlPlane,
	} {
		if a := b.see(path); a.status != http.StatusNotFound || !strings.Contains(a.text, want) {
			t.Errorf("%s: got %d, want %q in\n%s", path, a.status, want, a.text)
		}
	}
}

// TestSignInReturnsToTheAction: users who sign in come back to the page that they requested.
func TestSignInReturnsToTheAction(t *testing.T) {
	a := newWorld(t).browser("").see("/environments/prod/promote?commit=4444444")
	if want := "/-/sign-in?to=%2Fenvironments%2Fprod%2Fpromote%3Fcommit%3D4444444"; a.to != want {
		t.Errorf("got %q, want %q", a.to, want)
	}
}

// TestPromoteShowsConditions: the page lists what the commit will wait for.
func TestPromoteShowsConditions(t *testing.T) {
	w := newWorld(t)
	w.standings[1].Pause = &decide.Pause{By: "grace", At: time.Now()}
	w.standings[1].Phase = decide.Applying
	text := w.browser(access.Admin).see("/environments/prod/promote?commit=" + old).text
	for _, want := range []string{"until prod is resumed (paused by grace)", "until it is deployed in dev", "until the current rollout has finished"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if text := w.browser(access.Operator).see("/environments/prod/promote?commit=" + next).text; strings.Contains(text, "until it is deployed in dev") {
		t.Errorf("it waits for what was reached:\n%s", text)
	}
}

// TestBypassing: an admin bypasses a verification with a reason; an operator is refused.
func TestBypassing(t *testing.T) {
	const path = "/environments/prod/bypass?check=smoke"
	w := newWorld(t)
	if a := w.browser(access.Operator).confirm(path); a.status != http.StatusForbidden || !strings.Contains(a.text, "role operator, and this needs break-glass") {
		t.Errorf("an operator: %d\n%s", a.status, a.text)
	}
	b := w.browser(access.Admin)
	if page := b.see(path); !strings.Contains(page.text, "503") || !strings.Contains(page.text, "required, kept in the history") {
		t.Errorf("it shows\n%s", page.text)
	}
	if page := b.see("/environments/prod/bypass?check=other"); !strings.Contains(page.text, "no such verification") || page.fields().Has("csrf") {
		t.Errorf("an unknown verification:\n%s", page.text)
	}
	form := b.see(path).fields()
	form.Set("check", "other")
	form.Set("why", "because")
	if a := b.send("/environments/prod/bypass", form); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown verification is sent: %d", a.status)
	}
	if a := b.confirm(path); a.status != http.StatusSeeOther {
		t.Fatalf("got %d\n%s", a.status, a.text)
	}
	if got := b.see("/told").text; got != "smoke is bypassed for 3333333 in prod." {
		t.Errorf("it says %q", got)
	}
	steps, err := w.ledger.Steps(t.Context(), ledger.StepQuery{Kind: "bypassed"})
	must(t, err)
	if len(steps) != 1 || steps[0].By != "ada" || steps[0].Reason != "because" || !strings.Contains(string(steps[0].Detail), `"smoke"`) {
		t.Errorf("recorded: %+v", steps)
	}
}

// TestActionsOfRings: an action about a ring shows the ring, offers commits of the GitOps branch, and is recorded for the ring.
func TestActionsOfRings(t *testing.T) {
	for name, tc := range map[string]struct {
		path  string
		shows []string
		told  string
		audit string
	}{
		"pause": {"/environments/prod/pause?ring=canary", []string{"Pause prod/canary", "5555555"}, "prod/canary is paused. No promotion starts until it is resumed.", "pause"},
		"skip": {
			"/environments/prod/skip?ring=canary",
			[]string{"Skip prod/canary", "Later rings do not wait", "6666666"},
			"Later rings do not wait until 6666666 has run in prod/canary.", "skip",
		},
		"promote": {"/environments/prod/promote?ring=canary&commit=" + commit("6"), []string{"Promote to prod/canary"}, "6666666 is promoted to prod/canary next. This takes effect in a few seconds.", "promote"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.standings[1].Rings = []promote.RingStanding{
				{Name: "canary", Ring: "canary", Branch: "prod-ring-canary", Commit: commit("5"), Candidate: commit("6"), Phase: decide.Good},
			}
			b := w.browser(access.Operator)
			page := b.see(tc.path)
			for _, want := range tc.shows {
				if !strings.Contains(page.text, want) {
					t.Errorf("it does not show %q:\n%s", want, page.text)
				}
			}
			if a := b.confirm(tc.path); a.status != http.StatusSeeOther || !strings.HasPrefix(a.to, "/environments/prod?") {
				t.Fatalf("got %d to %q:\n%s", a.status, a.to, a.text)
			}
			if got := b.see("/told").text; got != tc.told {
				t.Errorf("it says %q, want %q", got, tc.told)
			}
			trail, err := w.ledger.AuditEntries(t.Context(), ledger.AuditQuery{Limit: 1})
			must(t, err)
			if len(trail) != 1 || trail[0].Action != tc.audit || trail[0].Subject != "prod/canary" {
				t.Errorf("the audit trail has %+v", trail)
			}
			if a := b.see("/environments/prod/pause?ring=canry"); a.status != http.StatusNotFound {
				t.Errorf("an unknown ring: got %d", a.status)
			}
		})
	}
}

// TestVerificationsOfRings: a verification of a ring is approved or bypassed for the ring and its commit, and not for one that came since.
func TestVerificationsOfRings(t *testing.T) {
	w := newWorld(t)
	w.standings[1].Rules = &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary", Verify: verified.Verify}}}
	w.standings[1].Rings = []promote.RingStanding{
		{Name: "canary", Ring: "canary", Branch: "prod-ring-canary", Commit: commit("5"), Phase: decide.Checking, Checks: progress},
	}
	const approve, bypass = "/environments/prod/approve?ring=canary&check=release", "/environments/prod/bypass?ring=canary&check=smoke"
	operator, admin := w.browser(access.Operator), w.browser(access.Admin)
	for path, wants := range map[string][]string{
		approve: {"Approve a commit in prod/canary", "0 of 1 approvals", "5555555"},
		bypass:  {"Bypass a verification in prod/canary", "503 Service Unavailable"},
	} {
		for _, want := range wants {
			if page := admin.see(path); !strings.Contains(page.text, want) {
				t.Errorf("%s does not show %q:\n%s", path, want, page.text)
			}
		}
	}
	if page := admin.see("/environments/prod/bypass?ring=canary&check=other"); !strings.Contains(page.text, "The commit of prod/canary has no such verification") {
		t.Errorf("an unknown verification:\n%s", page.text)
	}
	form := operator.see(approve).fields()
	w.standings[1].Rings[0].Commit = commit("6")
	if a := operator.send("/environments/prod/approve", form); a.status != http.StatusConflict || !strings.Contains(a.text, "has changed since") {
		t.Errorf("another commit has come: %d\n%s", a.status, a.text)
	}
	if a := operator.confirm(bypass); a.status != http.StatusForbidden {
		t.Errorf("an operator bypasses: %d", a.status)
	}
	for path, told := range map[string]string{approve: "6666666 is approved in prod/canary.", bypass: "smoke is bypassed for 6666666 in prod/canary."} {
		if a := admin.confirm(path); a.status != http.StatusSeeOther {
			t.Fatalf("%s: %d\n%s", path, a.status, a.text)
		}
		if got := admin.see("/told").text; got != told {
			t.Errorf("it says %q, want %q", got, told)
		}
	}
	for kind, check := range map[string]string{"approved": `"release"`, "bypassed": `"smoke"`} {
		steps, err := w.ledger.Steps(t.Context(), ledger.StepQuery{Kind: kind})
		must(t, err)
		if len(steps) != 1 || steps[0].Environment != "prod/canary" || steps[0].Commit != commit("6") || !strings.Contains(string(steps[0].Detail), check) {
			t.Errorf("%s: %+v", kind, steps)
		}
	}
}
