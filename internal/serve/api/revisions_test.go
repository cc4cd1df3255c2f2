package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// oneMerge is a history of one commit. What a real server reads from Git is tested in package wiring.
type oneMerge struct{}

var _ query.Histories = oneMerge{}

func merged() deliver.Merge {
	return deliver.Merge{Commit: commit("e"), Merged: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), By: "ann", Title: "deliver hello 1.5.0", Current: true}
}

func (oneMerge) Revisions(_ context.Context, a *query.Application, r deliver.PastRequest) (*deliver.TargetPast, error) {
	if r.Target != "web" {
		return nil, &deliver.UnknownTargetError{Target: r.Target, Near: []string{"web"}}
	}
	return &deliver.TargetPast{
		TargetPlace: deliver.TargetPlace{
			Application: a.Name, Environment: r.Environment, Target: r.Target, Repository: "https://git.example.com/hello-gitops", Branch: "dev", Folder: "web",
		},
		Revisions: []deliver.Revision{{Merge: merged(), Files: commit("f")}},
	}, nil
}

func (oneMerge) Versions(_ context.Context, a *query.Application, r deliver.PastRequest) (*deliver.EnvironmentPast, error) {
	return &deliver.EnvironmentPast{
		Application: a.Name, Environment: r.Environment, Repository: "https://git.example.com/hello-gitops", Branch: "dev",
		Versions: []deliver.EnvironmentVersion{{Merge: merged(), Targets: 1, Changed: []string{"web"}}},
	}, nil
}

// TestRevisions asks for the revisions of a target. A role in another workspace does not learn that the application exists.
func TestRevisions(t *testing.T) {
	w := newWorld(t)
	w.fill()
	const root = "/api/v1/applications/hello/environments/dev"
	wantProblem(t, w.get(root+"/targets/web/revisions"), http.StatusUnprocessableEntity) // this server reads no histories
	w.server.Observer.Histories = oneMerge{}
	found := decode[query.TargetRevisions](t, w.get(root+"/targets/web/revisions"), http.StatusOK)
	if len(found.Revisions) != 1 || found.Revisions[0].Commit != commit("e") || !found.Reports || found.Folder != "web" {
		t.Errorf("got %+v", found)
	}
	if p := wantProblem(t, w.get(root+"/targets/wbe/revisions"), http.StatusNotFound); !strings.Contains(p.Next, "web") {
		t.Errorf("an unknown target: %+v", p)
	}
	for workspace, want := range map[string]int{"shop": http.StatusOK, "others": http.StatusNotFound} {
		token := w.scoped(access.Reader, workspace)
		for _, path := range []string{root + "/versions", root + "/targets/web/revisions"} {
			if got := w.call(http.MethodGet, path, token, nil); got.status != want {
				t.Errorf("%s in %s: got %d: %s", path, workspace, got.status, got.body)
			}
		}
	}
}
