package deliver_test

import (
	"encoding/json"
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
			where := map[string]string{"configuration": "the value of token looks", "chart": "ConfigMap x: data.token looks"}[name]
			if first := draft.Plan.Targets[0]; !strings.Contains(first.Reason.Message, where) || strings.Contains(first.Reason.Message, "line") {
				t.Errorf("got %q, want %q", first.Reason.Message, where)
			}
			if text := fmt.Sprintf("%+v", draft.Plan); strings.Contains(text, token) {
				t.Errorf("the plan has the credential: %s", text)
			}
		})
	}
}

// A credential that is published already, because it is older than the checks, is not repeated in the plan that removes it: not in
// values, differences or the text of the pull request.
func TestPublishedCredentialsAreNotShown(t *testing.T) {
	token, password := "ghp_"+"x9Kq2LmZ7vT4bN8wR3"+"yF6hJ1sD5gA0cE9uPi", "Zk3vQ9sLmW7x"
	r := shop(1)
	d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
	request := deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"}
	draft, err := d.Draft(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	r.publish(draft)
	for _, files := range r {
		for name, content := range files {
			switch {
			case strings.HasSuffix(name, "t000/manifests.yaml"):
				files[name] = content + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: old\ndata:\n  token: " + token + "\n"
			case strings.HasSuffix(name, ".kalypso/t000/values.yaml"):
				files[name] = content + "token: " + token + "\ndatabase: mysql://ann:" + password + "@db/shop\n"
			}
		}
	}
	if draft, err = d.Draft(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if len(draft.Plan.Targets) != 1 || len(draft.Plan.Targets[0].Values) != 2 || len(draft.Plan.Targets[0].Objects) != 1 {
		t.Fatalf("got %+v", draft.Plan.Targets)
	}
	plan, err := json.Marshal(draft.Plan)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(plan), draft.Plan.Targets[0].Objects[0].Diff(), draft.Markdown(deliver.MarkdownOptions{})}
	for _, text := range texts {
		if strings.Contains(text, token) || strings.Contains(text, password) {
			t.Errorf("it has the credential: %s", text)
		}
		if !strings.Contains(text, "***") {
			t.Errorf("it does not have the change: %s", text)
		}
	}
}
