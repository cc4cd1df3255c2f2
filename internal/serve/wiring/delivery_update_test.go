package wiring

import (
	"context"
	"strings"
	"testing"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// nginxCharts is a repository with versions of one chart.
type nginxCharts struct {
	repository.Charts
	versions []string
}

// Fetch returns a chart that contains its version.
func (c nginxCharts) Fetch(_ context.Context, ref app.Chart) (*deliver.Chart, error) {
	return &deliver.Chart{Name: "nginx", Version: ref.Version, Digest: "sha256:" + ref.Version, Files: []chart.File{
		{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: nginx\nversion: " + ref.Version + "\n")},
		{Path: "templates/map.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nginx}\ndata: {version: {{ .Chart.Version | quote }}}\n")},
	}}, nil
}

// Versions returns the versions, newest first.
func (c nginxCharts) Versions(context.Context, app.Chart) ([]string, error) { return c.versions, nil }

func TestUpdateProposesNewerCharts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Push(shopSource, "main", map[string]string{"delivery.yaml": strings.Replace(fleettest.Shop()["delivery.yaml"], "spec:\n",
		"spec:\n  services:\n    - {name: nginx, chart: {repository: https://charts.example, name: nginx, version: 1.2.3}} # keep this\n", 1)})
	update := func(versions ...string) *deliver.Updated {
		t.Helper()
		d := s.chain.Deliverer
		d.Loader = s.loader()
		d.Loader.Charts = nginxCharts{versions: versions}
		u, err := d.Updates(t.Context(), s.request())
		if err == nil {
			err = d.ProposeUpdates(t.Context(), u)
		}
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if u := update("1.2.3"); u.PullRequest != nil {
		t.Errorf("proposed %q without a newer version", u.PullRequest.Title)
	}
	update("1.3.0", "1.2.3")
	if u := update("1.3.0", "1.2.3"); len(u.Did) > 0 {
		t.Errorf("did again: %q", u.Did)
	}
	u := update("1.4.0", "1.3.0", "1.2.3")
	if u.PullRequest == nil || u.PullRequest.Number != 1 || u.PullRequest.Title != "Update nginx from 1.2.3 to 1.4.0" {
		t.Fatalf("got %+v", u.PullRequest)
	}
	if !strings.Contains(u.PullRequest.Body, `+data: {version: "1.4.0"}`) {
		t.Errorf("the change does not show what it changes:\n%s", u.PullRequest.Body)
	}
	merge := forge.Merge{Head: s.Head(shopSource, "kalypso-update/charts")}
	if _, err := s.Repo(shopSource).MergePullRequest(t.Context(), 1, merge); err != nil {
		t.Fatal(err)
	}
	if got := s.Files(shopSource, "main")["delivery.yaml"]; !strings.Contains(got, "version: 1.4.0}} # keep this") {
		t.Errorf("got\n%s", got)
	}
	if u := update("1.4.0", "1.3.0", "1.2.3"); u.PullRequest != nil || len(u.Updates) > 0 {
		t.Errorf("proposed again: %+v", u)
	}
}
