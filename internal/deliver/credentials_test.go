package deliver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// A credential in the configuration or in a chart is in no file that is pushed, and in no plan: the target is held.
func TestCredentialsStay(t *testing.T) {
	token := "ghp_" + "x9Kq2LmZ7vT4bN8wR3" + "yF6hJ1sD5gA0cE9uPi"
	for name, spoil := range map[string]func(repos){
		"configuration": func(r repos) {
			r["https://git.example/shop-configs dev"]["region/t000/values.yaml"] = "replicas: 1\ntoken: " + token + "\n"
		},
		"chart": func(r repos) {
			r["https://git.example/shop main"]["helm/templates/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {token: " + token + "}\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := shop(2)
			spoil(r)
			d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
			draft, err := d.Draft(t.Context(), deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"})
			if err != nil {
				t.Fatal(err)
			}
			if check.Worst(draft.Findings) != check.Refuse {
				t.Errorf("got findings %v", draft.Findings)
			}
			for _, c := range draft.Changes() {
				if strings.Contains(string(c.Content), token) {
					t.Errorf("%s has the credential", c.Path)
				}
			}
			if first := draft.Plan.Targets[0]; first.Op != plan.Held || !strings.Contains(first.Reason.Message, "looks like a credential") {
				t.Errorf("got %s: %v", first.Op, first.Reason)
			}
			if text := fmt.Sprintf("%+v", draft.Plan); strings.Contains(text, token) {
				t.Errorf("the plan has the credential: %s", text)
			}
		})
	}
}
