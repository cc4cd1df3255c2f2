package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/deliver"
	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// formsOnly has values without repositories. What a real server does with them is tested in package wiring.
type formsOnly struct{}

var _ api.Values = formsOnly{}

func (formsOnly) Author(who access.Identity) editing.Author { return editing.Author{Name: who.Name} }

func (formsOnly) ApplicationForm(_ context.Context, _ *query.Application, r deliver.FormRequest) (*deliver.Form, error) {
	at := fleetpkg.Position{Source: "config", File: "web/values.yaml", Line: 1}
	return &deliver.Form{
		Environment: r.Environment, Target: r.Target, Targets: []string{"web"}, AllTargets: []string{"web"}, AllFolders: []string{"."},
		Fields: []deliver.FormField{{
			Field: schemas.Field{Key: "replicas", Types: []string{"integer"}, Allowed: []any{1, "x"}, Rules: []string{"at least 1"}, Default: 1}, Set: true, Value: "2", From: at,
			Over: []values.Overridden{{Value: "1", From: at}}, Editors: []string{"sre"}, MayEdit: true,
		}},
	}, nil
}

func (formsOnly) SetApplication(_ context.Context, _ *query.Application, r deliver.SetRequest, _ access.Identity, propose bool) (*deliver.Setting, *pullrequest.Written, error) {
	s := &deliver.Setting{Environment: r.Environment, Commit: commit("d"), Targets: []deliver.SetTarget{}, Problems: []fleetpkg.Problem{}}
	for _, v := range r.Values {
		if v.Value.Value == "wrong" {
			s.Problems = append(s.Problems, fleetpkg.Problem{Severity: fleetpkg.SeverityError, Message: strings.Join(v.Path, ".") + ": must be an integer"})
		}
		if v.Value.Value == "denied" {
			return nil, nil, &api.SettingError{Status: http.StatusForbidden, Next: "use the command", Err: context.Canceled}
		}
	}
	if !propose || len(s.Problems) > 0 {
		return s, nil, nil
	}
	return s, &pullrequest.Written{Branch: "set/dev-1", PullRequest: &forge.PullRequest{Number: 7, URL: "https://git.example.com/7"}}, nil
}

func (formsOnly) SetPlatform(_ context.Context, r schedule.SetRequest, _ access.Identity, _ bool) (*schedule.Setting, *pullrequest.Written, error) {
	return &schedule.Setting{Environment: r.Environment, ConfigMap: r.ConfigMap, Problems: []fleetpkg.Problem{}}, nil, nil
}

func TestValuesAreSetOrRefused(t *testing.T) {
	w := newWorld(t)
	const path = "/api/v1/applications/hello/environments/dev/values"
	if got := w.get(path).status; got != http.StatusNotImplemented {
		t.Errorf("a server without values: got %d", got)
	}
	w.server.Values = formsOnly{}
	post := func(value string, more string) asked {
		return w.post(path, w.tokens[access.Operator], `{"target": "web", "values": [{"key": "a.b", "value": `+value+`}]`+more+`}`)
	}
	done := decode[api.SetApplicationResult](t, post(`3`, ""), http.StatusOK)
	if done.PullRequest != "https://git.example.com/7" || done.Number != 7 || done.Written != "set/dev-1" {
		t.Errorf("got %+v", done)
	}
	preview := decode[api.SetApplicationResult](t, post(`"wrong"`, `, "preview": true`), http.StatusOK)
	if len(preview.Problems) != 1 || preview.Written != "" {
		t.Errorf("a preview: %+v", preview)
	}
	if p := wantProblem(t, post(`"wrong"`, ""), http.StatusUnprocessableEntity); len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Message, "a.b: must be") {
		t.Errorf("got %+v", p)
	}
	if p := wantProblem(t, post(`"denied"`, ""), http.StatusForbidden); p.Next != "use the command" {
		t.Errorf("got %+v", p)
	}
	bad := w.post(path, w.tokens[access.Operator], `{"target": "web", "values": [{"key": "a..b", "value": 1}]}`)
	if p := wantProblem(t, bad, http.StatusUnprocessableEntity); p.Errors[0].Location != "body.values[0]" {
		t.Errorf("got %+v", p)
	}
	entries, err := w.ledger.AuditEntries(t.Context(), ledger.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Action == "set-application-values" && strings.Contains(e.Detail, `keys="a.b"`) {
			return
		}
	}
	t.Errorf("the audit trail is %+v", entries)
}
