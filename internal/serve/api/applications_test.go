package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

const helloSubject = "https://git.example.com/acme/hello#hello"

func TestCommandsAboutAnApplication(t *testing.T) {
	w := newWorld(t)
	good, at := commit("1"), time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i, step := range []struct{ kind, commit string }{{"started", good}, {"deployed", good}, {"started", commit("e")}} {
		err := w.ledger.RecordStep(t.Context(), ledger.Step{
			PromotionID: ledger.PromotionID{Subject: helloSubject, Commit: step.commit, Environment: "dev"}, Kind: step.kind, At: at.Add(time.Duration(i) * time.Minute),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []struct{ path, body, commit string }{
		{"rollback", `{"why": "1.4.0 loses orders"}`, good},
		{"promote", `{"commit": "eeeeeee"}`, commit("e")},
		{"pause", `{"why": "holidays"}`, ""},
		{"resume", `{}`, ""},
		{"abort", `{"commit": "` + commit("e") + `"}`, commit("e")},
	} {
		a := w.post("/api/v1/applications/hello/environments/dev/"+call.path, w.tokens[access.Operator], call.body)
		got := decode[api.Accepted](t, a, http.StatusAccepted)
		if got.Application != "hello" || got.ControlPlane != controlPlane || got.Commit != call.commit || got.By != "operator" {
			t.Errorf("%s: got %+v", call.path, got)
		}
	}
	want := []string{
		"rolledBack dev eee operator 1.4.0 loses orders", "requested dev eee operator ", "paused dev * operator holidays", "resumed dev * operator ", "aborted dev eee operator ",
	}
	if diff := cmp.Diff(want, w.words()); diff != "" {
		t.Error(diff)
	}
	steps, err := w.ledger.Steps(t.Context(), ledger.StepQuery{Subject: helloSubject, Kind: "requested"})
	if err != nil || len(steps) != 1 {
		t.Errorf("the application has the requests %v (%v)", steps, err)
	}
	if trail := w.trail(); len(trail) != 5 || !strings.Contains(trail[0], `rollback dev application="`+helloSubject+`" commit="`+commit("e")+`" why=`) {
		t.Errorf("the audit trail is %q", trail)
	}
	if len(w.spoken) != 5 || w.spoken[0] != controlPlane+" "+helloSubject {
		t.Errorf("told of %q", w.spoken)
	}
}

func TestBuildsAreRecorded(t *testing.T) {
	w := newWorld(t)
	build := deliver.Build{Commit: commit("e"), Version: "1.5.0", Image: "1.5.0@sha256:" + strings.Repeat("ab", 32)}
	body := `{"commit": "` + build.Commit + `", "version": "1.5.0", "image": "` + build.Image + `"}`
	got := decode[api.RecordedBuild](t, w.post("/api/v1/applications/hello/builds", w.tokens[access.Operator], body), http.StatusAccepted)
	if got.Build != build || got.Subject != helloSubject || got.By != "operator" {
		t.Errorf("got %+v", got)
	}
	builds, err := deliver.RecordedBuilds(t.Context(), w.ledger, helloSubject)
	if err != nil || builds[build.Commit] != build {
		t.Errorf("got %v, %v", builds, err)
	}
	if trail := w.trail(); len(trail) != 1 || !strings.Contains(trail[0], "record-build hello") {
		t.Errorf("the audit trail is %q", trail)
	}
}

func TestCommandsAboutAnApplicationThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, tc := range map[string]struct {
		role       access.Role
		path, body string
		status     int
	}{
		"a reader":               {access.Reader, "hello/environments/dev/pause", `{}`, 403},
		"a reader's build":       {access.Reader, "hello/builds", `{"commit": "` + commit("e") + `"}`, 403},
		"unknown application":    {access.Operator, "none/environments/dev/pause", `{}`, 404},
		"unknown environment":    {access.Operator, "hello/environments/prod/pause", `{}`, 404},
		"another branch":         {access.Operator, "hello/environments/dev/promote", `{"commit": "` + commit("9") + `"}`, 422},
		"build of no commit":     {access.Operator, "hello/builds", `{"version": "1"}`, 422},
		"build of a short hash":  {access.Operator, "hello/builds", `{"commit": "eeeeeee"}`, 422},
		"version with a newline": {access.Operator, "hello/builds", `{"commit": "` + commit("e") + `", "version": "1\n2"}`, 422},
	} {
		wantProblem(t, w.post("/api/v1/applications/"+tc.path, w.tokens[tc.role], tc.body), tc.status)
		if got := w.words(); len(got) > 0 {
			t.Fatalf("%s: got %q", name, got)
		}
	}
}
