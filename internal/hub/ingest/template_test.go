package ingest_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
)

// documented is the template that people copy from the documentation, and that Argo CD executes with sprig's functions.
func documented(t *testing.T) *template.Template {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "```yaml\n") {
		text, _, _ := strings.Cut(block, "```")
		if !strings.Contains(text, "argocd-notifications-cm") {
			continue
		}
		var config struct{ Data map[string]string }
		var notification struct {
			Webhook map[string]struct{ Body string }
		}
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(config.Data["template.kalypso"]), &notification); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"service.webhook.kalypso", "subscriptions", "trigger.kalypso"} {
			if err := yaml.Unmarshal([]byte(config.Data[name]), new(any)); err != nil || config.Data[name] == "" {
				t.Errorf("%s: %q, %v", name, config.Data[name], err)
			}
		}
		return template.Must(template.New("kalypso").Funcs(sprig.TxtFuncMap()).Parse(notification.Webhook["kalypso"].Body))
	}
	t.Fatal("the page has no such ConfigMap")
	return nil
}

func TestDocumentedTemplate(t *testing.T) {
	body := documented(t)
	for name, tc := range map[string]struct {
		app  string
		want ingest.ArgoNotification
	}{
		"new": {
			`{metadata: {name: shop, namespace: argocd}, spec: {source: {repoURL: "https://git.example.com/shop", helm: {values: "password: hunter2"}}}}`,
			ingest.ArgoNotification{Sources: []ingest.ArgoSource{{RepoURL: "https://git.example.com/shop"}}, Revisions: []string{}, Operated: []string{}},
		},
		"healthy": {
			`{metadata: {name: shop, namespace: argocd}, spec: {destination: {server: "https://kubernetes.default.svc", namespace: shop}, syncPolicy: {automated: {}}, source: {repoURL: "https://git.example.com/shop", path: dev, targetRevision: main}},
			  status: {sync: {status: Synced, revision: abc, comparedTo: {source: {helm: {values: hunter2}}}}, health: {status: Healthy},
			           operationState: {phase: Succeeded, message: "it \"works\"", syncResult: {revision: def}}}}`,
			ingest.ArgoNotification{
				Destination: "https://kubernetes.default.svc",
				Sources:     []ingest.ArgoSource{{RepoURL: "https://git.example.com/shop", Path: "dev", TargetRevision: "main"}},
				Revisions:   []string{"abc"}, Operated: []string{"def"}, Sync: "Synced", Health: "Healthy", Phase: "Succeeded", Message: `it "works"`, Automated: true,
			},
		},
		"several sources": {
			`{metadata: {name: shop, namespace: argocd}, spec: {destination: {name: store}, syncPolicy: {automated: {enabled: false}}, sources: [{repoURL: a, chart: redis}, {repoURL: b}]},
			  status: {sync: {status: OutOfSync, revisions: ["1.0", def]}, health: {status: Degraded, message: bad}}}`,
			ingest.ArgoNotification{
				Destination: "store",
				Sources:     []ingest.ArgoSource{{RepoURL: "a", Chart: "redis"}, {RepoURL: "b"}},
				Revisions:   []string{"1.0", "def"}, Operated: []string{}, Sync: "OutOfSync", Health: "Degraded", HealthMessage: "bad",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var app map[string]any
			if err := yaml.Unmarshal([]byte(tc.app), &app); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			now := func() time.Time { return noon.In(time.FixedZone("", 3600)) }
			if err := body.Execute(&out, map[string]any{"app": app, "time": map[string]any{"Now": now}}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "hunter2") {
				t.Errorf("values leave the cluster: %s", out.String())
			}
			got, err := ingest.ParseArgoNotification(out.Bytes())
			if err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			tc.want.APIVersion, tc.want.Kind, tc.want.Namespace, tc.want.Name = "hub.kalypso.io/v1alpha1", "ArgoNotification", "argocd", "shop"
			tc.want.Sent = noon
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
