package deliver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// services is a services repository with one chart and its configuration.
func services(document, at string) repos {
	r := shop(1)
	r[sourceMain][at] = document
	r[configDev] = map[string]string{"nginx/t000/values.yaml": "a: b\n"}
	return r
}

func TestUpdates(t *testing.T) {
	const at = "delivery.yaml"
	document := `apiVersion: app.kalypso.io/v1alpha1
kind: Delivery
metadata: {name: shop}
spec:
  services:
    - name: nginx # the way in
      chart: {repository: https://charts.example, name: nginx, version: VERSION} # keep
`
	for version, want := range map[string]string{"1.2.3": "2.0.0", "2.0.0": "", "~1.2": "", "9.9.9": ""} {
		r := services(strings.ReplaceAll(document, "VERSION", version), at)
		d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
		u, err := d.Updates(t.Context(), deliver.Request{Source: "https://git.example/shop"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, one := range u.Updates {
			got = one.To
			if one.Position.String() != "delivery.yaml:7" {
				t.Errorf("written at %s", one.Position)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
		if want != "" && (len(u.Plans) != 1 || len(u.Plans[0].Targets) != 1) {
			t.Errorf("%s: got plans %+v", version, u.Plans)
		}
	}
}

func TestUpdatesOfTheOriginalsServices(t *testing.T) {
	r := services("name: nginx\nhelm:\n  repository: https://charts.example\n  chart: nginx\n  version: 1.2.3\n", "services/nginx.yaml")
	d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
	u, err := d.Updates(t.Context(), deliver.Request{Source: "https://git.example/shop"})
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Updates) != 1 {
		t.Fatalf("got %+v", u.Updates)
	}
	if diff := cmp.Diff("services/nginx.yaml:5 2.0.0", u.Updates[0].Position.String()+" "+u.Updates[0].To); diff != "" {
		t.Error(diff)
	}
}
