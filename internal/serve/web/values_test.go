package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// ownValues has values for the application of the team, and fails the test if another one's are read: the API must not ask for them.
type ownValues struct{ testing.TB }

var _ api.Values = ownValues{}

func (v ownValues) Author(who access.Identity) editing.Author { return editing.Author{Name: who.Name} }

func (v ownValues) ApplicationForm(_ context.Context, a *query.Application, r deliver.FormRequest) (*deliver.Form, error) {
	if a.Name != "cart" {
		v.Errorf("the values of %s are read", a.Name)
	}
	f := &deliver.Form{Environment: r.Environment, Target: r.Target, Folder: r.Folder, Targets: []string{}, Fields: []deliver.FormField{}, AllTargets: []string{"main"}, AllFolders: []string{"."}}
	if r.Target != "" {
		f.File = "main/values.yaml"
		f.Fields = append(f.Fields,
			deliver.FormField{Field: schemas.Field{Key: "replicas", Types: []string{"integer"}}, Set: true, Value: "2", MayEdit: true},
			deliver.FormField{Field: schemas.Field{Key: "owner", Types: []string{"string"}}, Editors: []string{"dba"}, MayEdit: r.Author.In([]string{"dba"})})
	}
	return f, nil
}

func (v ownValues) SetApplication(_ context.Context, a *query.Application, r deliver.SetRequest, _ access.Identity, _ bool) (*deliver.Setting, *pullrequest.Written, error) {
	if a.Name != "cart" {
		v.Errorf("the values of %s are set", a.Name)
	}
	return &deliver.Setting{Environment: r.Environment}, nil, nil
}

func (ownValues) SetPlatform(context.Context, schedule.SetRequest, access.Identity, bool) (*schedule.Setting, *pullrequest.Written, error) {
	return &schedule.Setting{}, nil, nil
}

// noSessions is a server on which no user is signed in.
type noSessions struct{}

func (noSessions) FormToken(*http.Request) string   { return "" }
func (noSessions) Tell(http.ResponseWriter, string) {}
func (noSessions) CheckForm(*http.Request) error {
	return &access.Refusal{Kind: access.ErrForbidden, What: "the form belongs to another session"}
}

func TestFormsOfValuesFollowRolesAndEditRights(t *testing.T) {
	w := newTeams(t)
	reader, operator := w.token(access.Reader, "shop", "dev"), w.token(access.Operator, "shop", "dev")
	for _, c := range []struct {
		token, path string
		status      int
		has, hasNot []string
	}{
		{reader, "/workloads/cart/values?environment=dev&target=main", 200, []string{"Your role cannot set values here", "kalypso app config set", "replicas"}, []string{`name="v:replicas"`}},
		{operator, "/workloads/cart/values?environment=dev&target=main", 200, []string{`name="v:replicas"`, "Editable by dba"}, []string{`name="v:owner"`, "Your role cannot"}},
		{operator, "/workloads/cart/values?environment=dev", 200, []string{"target=main", "all targets"}, []string{"values-form"}},
		{operator, "/workloads/cart/values?environment=stage&target=main", 404, nil, []string{"replicas"}},
		{operator, "/workloads/zulu/values?environment=dev&target=main", 404, nil, []string{"replicas"}},
		{operator, "/environments/dev/values", 403, nil, nil},
		{"", "/workloads/cart/values?environment=dev&target=main", 401, nil, []string{"replicas"}},
	} {
		a, text := w.send(t.Context(), http.MethodGet, c.path, c.token, nil, "Accept", "text/html")
		if a.StatusCode != c.status {
			t.Errorf("%s: got %d, want %d: %s", c.path, a.StatusCode, c.status, text)
		}
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", c.path, want)
			}
		}
		for _, never := range c.hasNot {
			if strings.Contains(text, never) {
				t.Errorf("%s has %s", c.path, never)
			}
		}
	}
	a, text := w.send(t.Context(), http.MethodGet, "/workloads/cart/values?environment=dev&target=main", operator, nil, "Accept", "application/json")
	var form api.ApplicationForm
	if err := json.Unmarshal([]byte(text), &form); err != nil || a.StatusCode != http.StatusOK || form.Target != "main" || !form.MaySet {
		t.Errorf("as JSON: got %d, %v: %s", a.StatusCode, err, text)
	}
	if a, _ := w.send(t.Context(), http.MethodPost, "/workloads/cart/values", operator, strings.NewReader("environment=dev"), "Content-Type", "application/x-www-form-urlencoded"); a.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another session: got %d", a.StatusCode)
	}
}
