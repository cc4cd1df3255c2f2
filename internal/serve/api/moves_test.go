package api_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// words are the steps that people caused, the oldest first.
func (w *world) words() []string {
	w.t.Helper()
	steps, err := w.ledger.Steps(w.t.Context(), ledger.StepQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i]; s.By != "" {
			all = append(all, strings.Join([]string{s.Kind, s.Environment, s.Commit[:min(len(s.Commit), 3)], s.By, s.Reason}, " "))
		}
	}
	return all
}

// trail is the audit trail, the oldest entry first.
func (w *world) trail() []string {
	w.t.Helper()
	entries, err := w.ledger.AuditEntries(w.t.Context(), ledger.AuditQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		all = append(all, strings.TrimSpace(strings.Join([]string{e.By, e.Action, e.Subject, e.Detail}, " ")))
		if e.Address != "127.0.0.1" && e.Address != "::1" {
			w.t.Errorf("%s came from %q", e.Action, e.Address)
		}
	}
	return all
}

func TestWordsOfPeople(t *testing.T) {
	w := newWorld(t)
	operator := w.tokens["operator"]
	for _, call := range []struct{ path, body string }{
		{"/environments/dev/promote", `{"commit": "` + commit("a") + `", "why": "the fix"}`},
		{"/environments/dev/pause", `{"why": "holidays\u001b[31m\nroot says yes"}`},
		{"/environments/dev/resume", `{}`},
		{"/environments/dev/abort", `{"commit": "` + commit("b") + `"}`},
		{"/environments/prod/pause?controlPlane=" + url.QueryEscape(controlPlane), `{"why": "freeze"}`},
	} {
		a := w.post("/api/v1"+call.path, operator, call.body)
		if got := decode[api.Accepted](t, a, http.StatusAccepted); got.ControlPlane != controlPlane || got.By != "operator" {
			t.Errorf("%s: got %+v", call.path, got)
		}
	}
	words := []string{
		"requested dev aaa operator the fix", "paused dev * operator holidays [31m root says yes", "resumed dev * operator ",
		"aborted dev bbb operator ", "paused prod * operator freeze",
	}
	if diff := cmp.Diff(w.words(), words); diff != "" {
		t.Errorf("words (-got +want):\n%s", diff)
	}
	by, at := "operator (token operator) ", ` controlPlane="`+controlPlane+`"`
	trail := []string{
		by + "promote dev" + at + ` commit="` + commit("a") + `" why="the fix"`, by + "pause dev" + at + ` why="holidays [31m root says yes"`,
		by + "resume dev" + at, by + "abort dev" + at + ` commit="` + commit("b") + `"`, by + "pause prod" + at + ` why="freeze"`,
	}
	if diff := cmp.Diff(w.trail(), trail); diff != "" {
		t.Errorf("audit trail (-got +want):\n%s", diff)
	}
	if len(w.spoken) != 5 || w.spoken[4] != controlPlane+" prod" {
		t.Errorf("told of %q", w.spoken)
	}
}

// TestWordsForRings: a command for a ring is about commits of the GitOps branch, which promoted commits stand for.
func TestWordsForRings(t *testing.T) {
	w := newWorld(t)
	for i, source := range []string{"c", "d"} {
		sha := commit(strconv.Itoa(i + 1))
		err := w.ledger.RecordCommit(t.Context(), ledger.Commit{
			Repository: "https://git.example.com/gitops", Branch: "stage", Environment: "stage", Kind: ledger.BranchPlatform,
			SHA: sha, SourceCommit: commit(source), Committed: time.Now(), Recorded: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"started", "deployed"} {
			err := w.ledger.RecordStep(t.Context(), ledger.Step{
				PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: sha, Environment: "stage/canary"}, Kind: kind, At: time.Now(),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		path, body string
		status     int
	}{
		{"pause?ring=canary", `{"why": "lunch"}`, 202},
		{"resume?ring=others", `{}`, 202},
		{"promote?ring=others.1", `{"commit": "` + commit("d")[:9] + `"}`, 202},
		{"abort?ring=others", `{"commit": "` + commit("2")[:7] + `"}`, 202},
		{"skip?ring=canary", `{"commit": "` + commit("2") + `", "why": "urgent"}`, 202},
		{"rollback?ring=canary", `{}`, 202},
		{"rollback?ring=others", `{}`, 409},
		{"skip?ring=canary", `{"commit": "` + commit("2") + `"}`, 422},
		{"skip", `{"commit": "` + commit("2") + `", "why": "urgent"}`, 422},
		{"pause?ring=canry", `{}`, 404},
		{"abort?ring=canary", `{"commit": "abcdef0"}`, 404},
	} {
		a := w.post("/api/v1/environments/stage/"+tc.path, w.tokens["operator"], tc.body)
		if a.status != tc.status {
			t.Errorf("%s: got %d: %s", tc.path, a.status, a.body)
		}
		if tc.status == http.StatusAccepted {
			_, ring, _ := strings.Cut(tc.path, "=")
			if got := decode[api.Accepted](t, a, tc.status); got.Environment != "stage" || got.Ring != ring {
				t.Errorf("%s: got %+v", tc.path, got)
			}
		}
	}
	words := []string{
		"paused stage/canary * operator lunch", "resumed stage/others * operator ", "requested stage/others.1 222 operator ",
		"aborted stage/others 222 operator ", "skipped stage/canary 222 operator urgent", "rolledBack stage/canary 222 operator ",
	}
	if diff := cmp.Diff(w.words(), words); diff != "" {
		t.Errorf("words (-got +want):\n%s", diff)
	}
	if a := w.post("/api/v1/environments/dev/pause?ring=canary", w.tokens["operator"], `{}`); a.status != http.StatusNotFound {
		t.Errorf("a ring of an environment without rings: got %d", a.status)
	}
	if len(w.spoken) != 6 || w.spoken[0] != controlPlane+" stage" {
		t.Errorf("told of %q", w.spoken)
	}
}

func TestWordsThatAreNotTaken(t *testing.T) {
	w := newWorld(t)
	for name, tc := range map[string]struct {
		path, body string
		status     int
	}{
		"no commit":              {"dev/promote", `{}`, 422},
		"no hash":                {"dev/promote", `{"commit": "main-branch"}`, 422},
		"an unknown beginning":   {"dev/promote", `{"commit": "abcdef0"}`, 404},
		"another field":          {"dev/pause", `{"reason": "x"}`, 422},
		"no JSON":                {"dev/pause", `why`, 400},
		"nothing":                {"dev/pause", ``, 400},
		"a list":                 {"dev/pause", `[]`, 422},
		"a long reason":          {"dev/pause", `{"why": "` + strings.Repeat("x", 501) + `"}`, 422},
		"far too long":           {"dev/pause", `{"why": "` + strings.Repeat("x", 1<<20) + `"}`, 413},
		"very deep":              {"dev/pause", strings.Repeat(`{"why":`, 9000), 400},
		"unknown environment":    {"none/pause", `{}`, 404},
		"several control planes": {"prod/pause", `{}`, 409},
		"another control plane":  {"dev/pause?controlPlane=https://git.example.com/x", `{}`, 404},
		"nowhere to go back to":  {"stage/rollback", `{}`, 409},
	} {
		a := w.post("/api/v1/environments/"+tc.path, w.tokens["operator"], tc.body)
		if p := wantProblem(t, a, tc.status); strings.Contains(string(a.body), "xxxx") {
			t.Errorf("%s: it is quoted: %+v", name, p)
		}
	}
	if got := w.words(); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestRollbackGoesToTheLastGoodCommit(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i, step := range []struct{ kind, commit string }{
		{"deployed", "a"}, {"deployed", "b"}, {"failed", "b"}, {"started", "c"}, {"deployed", "c"},
	} {
		err := w.ledger.RecordStep(t.Context(), ledger.Step{
			PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: commit(step.commit), Environment: "dev"},
			Kind:        step.kind, At: at.Add(time.Duration(i) * time.Minute),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := decode[api.Accepted](t, w.post("/api/v1/environments/dev/rollback", w.tokens["operator"], `{"why": "c is slow"}`), http.StatusAccepted)
	if got.Commit != commit("a") {
		t.Errorf("got %s: b failed, and c is what is there", got.Commit)
	}
	abbreviated := w.post("/api/v1/environments/dev/promote", w.tokens["operator"], `{"commit": "bbbbbbb"}`)
	if got := decode[api.Accepted](t, abbreviated, http.StatusAccepted); got.Commit != commit("b") {
		t.Errorf("got %+v", got)
	}
}

// TestNothingIsDoneThatIsNotOnRecord: a write whose entry cannot be written is refused.
func TestNothingIsDoneThatIsNotOnRecord(t *testing.T) {
	w := newWorld(t)
	w.server.Ledger = forgetful{w.ledger}
	for path, body := range map[string]string{
		"/environments/dev/pause":   `{}`,
		"/clusters":                 `{"name": "large-09", "memberships": [{"environment": "dev", "clusterType": "large"}]}`,
		"/tokens":                   `{"name": "ci", "role": "reader"}`,
		"/tokens/reader/revoke":     ``,
		"/clusters/large-09/revoke": ``,
		"/clusters/large-09/rotate": ``,
		"/environments/dev/promote": `{"commit": "` + commit("a") + `"}`,
		"/environments/dev/abort":   `{"commit": "` + commit("a") + `"}`,
		"/environments/dev/resume":  `{}`,
	} {
		wantProblem(t, w.post("/api/v1"+path, w.tokens["admin"], body), http.StatusInternalServerError)
	}
	tokens, err := w.ledger.Tokens(t.Context())
	if err != nil || len(tokens) != 3 || len(w.words()) > 0 {
		t.Errorf("something was done: %d tokens, words %q, error %v", len(tokens), w.words(), err)
	}
}

// TestBreakGlass: the role break-glass overrides rules only if the client says so, with a reason, and that has an
// audit entry of its own. An admin needs neither.
func TestBreakGlass(t *testing.T) {
	w := newWorld(t)
	token := w.store(ledger.Token{ID: "on-call", Description: "on-call", Role: "break-glass"}, access.BreakGlass)
	for _, tc := range []struct {
		token, body string
		status      int
	}{
		{w.tokens[access.Operator], `{"now": true, "breakGlass": true, "why": "fire"}`, http.StatusForbidden},
		{token, `{"now": true, "why": "fire"}`, http.StatusForbidden},
		{token, `{"now": true, "breakGlass": true}`, http.StatusUnprocessableEntity},
		{token, `{"now": true, "breakGlass": true, "why": "fire"}`, http.StatusAccepted},
		{w.tokens[access.Admin], `{"now": true}`, http.StatusAccepted},
	} {
		if a := w.post("/api/v1/environments/dev/rollback", tc.token, tc.body); a.status != tc.status {
			t.Errorf("%s: got %d: %s", tc.body, a.status, a.body)
		}
	}
	about := ` commit="` + commit("c") + `"`
	trail := []string{
		`on-call (token on-call) break-glass dev action="rollback --now"` + about + ` why="fire"`,
		`on-call (token on-call) rollback dev controlPlane="` + controlPlane + `"` + about + ` why="fire"`,
		`admin (token admin) rollback dev controlPlane="` + controlPlane + `"` + about,
	}
	if diff := cmp.Diff(trail, w.trail()); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"rolledBack dev ccc on-call (break-glass) fire", "rolledBack dev ccc admin "}, w.words()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
