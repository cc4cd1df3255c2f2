package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/agent/manifests"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/operator"
)

const chartFolder = "../../charts/kalypso"

// smallestServer is all that a user has to say.
const smallestServer = `{server: {config: {controlPlanes: ["https://github.com/acme/control-plane"], url: "https://kalypso.acme.example"}}}`

// replicatedServer has several servers.
const replicatedServer = `
server:
  replicas: 3
  config:
    controlPlanes: ["https://github.com/acme/control-plane"]
    url: https://kalypso.acme.example
    ledger: postgres://kalypso@postgres.kalypso.svc/kalypso
    forges: [{url: "https://github.com", tokenEnv: TOKEN}]
  persistence: {enabled: false}
`

// TestTheChartRunsReplicas: a Deployment that is rolled out, whose pods get requests when they have read everything, and a budget for them.
func TestTheChartRunsReplicas(t *testing.T) {
	for _, test := range []struct {
		values, strategy, ready string
		replicas, budget        float64
	}{
		{smallestServer, "Recreate", "/healthz", 1, -1},
		{replicatedServer, "RollingUpdate", "/readyz", 3, 1},
		{replicatedServer + "  podDisruptionBudget: {maxUnavailable: 2}\n", "RollingUpdate", "/readyz", 3, 2},
		{replicatedServer + "  podDisruptionBudget: {enabled: false}\n", "RollingUpdate", "/readyz", 3, -1},
	} {
		made, problems := renderedChart(t, test.values)
		if problems != "" {
			t.Fatal(problems)
		}
		all := objects(t, made)
		spec := all["Deployment"]["spec"].(map[string]any)
		container := spec["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		budget := -1.0
		if found, ok := all["PodDisruptionBudget"]; ok {
			budget = found["spec"].(map[string]any)["maxUnavailable"].(float64)
		}
		got := []any{
			spec["strategy"].(map[string]any)["type"], container["readinessProbe"].(map[string]any)["httpGet"].(map[string]any)["path"], spec["replicas"], budget,
		}
		if diff := cmp.Diff([]any{test.strategy, test.ready, test.replicas, test.budget}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.values, diff)
		}
	}
}

// fullChart turns on everything.
const fullChart = `
imagePullSecrets: [{name: registry}]
server:
  config:
    controlPlanes: ["https://github.com/acme/control-plane"]
    url: https://kalypso.acme.example
    forges:
    - url: https://github.com
      app: {id: 12345, installationID: 67890, privateKeyFile: /etc/kalypso/secrets/github-app.pem}
      webhookSecretEnv: WEBHOOK_SECRET
  secret: kalypso-forges
  env:
  - name: WEBHOOK_SECRET
    valueFrom: {secretKeyRef: {name: kalypso-forges, key: webhook-secret}}
  ingress: {enabled: true, className: nginx, host: kalypso.acme.example, annotations: {a: b}, tlsSecret: kalypso-tls}
  networkPolicy: {from: [{namespaceSelector: {}}], to: [{ipBlock: {cidr: 10.0.0.0/8}}]}
  podDisruptionBudget: {enabled: true}
  serviceMonitor: {enabled: true, labels: {release: prometheus}, tokenSecret: kalypso-metrics}
  service: {annotations: {a: b}}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: a, operator: Exists}]
  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}
  podAnnotations: {a: b}
agent:
  enabled: true
  server: https://kalypso.acme.example
  cluster: west-1
  watch: [example.com/things]
  destinations: [other=west-2]
  podAnnotations: {a: b}
operator:
  enabled: true
  namespaces: [shop, bank]
  allow: ["https://github.com"]
  networkPolicy: {to: [{ipBlock: {cidr: 10.0.0.0/8}}]}
  podAnnotations: {a: b}
`

// renderedChart renders the Helm chart with values, or returns why it cannot.
func renderedChart(t *testing.T, text string) ([]byte, string) {
	t.Helper()
	var files []chart.File
	err := filepath.WalkDir(chartFolder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		relative, _ := filepath.Rel(chartFolder, name)
		files = append(files, chart.File{Path: filepath.ToSlash(relative), Content: content})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	made := charttest.Run(&chart.Job{Form: chart.FormChart, Files: files, Config: map[string][]byte{"values.yaml": []byte(text)}, Targets: []chart.Target{
		{Name: "t", Layers: []string{"values.yaml"}, Options: chart.Options{Release: "kalypso", Namespace: "kalypso"}},
	}}, nil).Targets[0]
	var said []string
	for _, p := range made.Problems {
		said = append(said, p.Message)
	}
	if made.Manifests == nil {
		return nil, strings.Join(said, "\n")
	}
	return made.Manifests.Content, strings.Join(said, "\n")
}

// TestTheChartPassesTheChecks that manifests of others have to pass, and the configuration in it is one.
func TestTheChartPassesTheChecks(t *testing.T) {
	values := map[string]string{"smallest": smallestServer, "full": fullChart, "replicas": replicatedServer}
	examples, err := filepath.Glob(filepath.Join(chartFolder, "ci", "*-values.yaml"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("no values in ci/: %v", err)
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		values[filepath.Base(path)] = string(text)
	}
	for name, text := range values {
		t.Run(name, func(t *testing.T) { checkChart(t, text) })
	}
}

// TestTheChartGivesTheServerAnIdentity: with the values of the guide, AKS gives the server's pods the token of a workload identity.
func TestTheChartGivesTheServerAnIdentity(t *testing.T) {
	guide, err := os.ReadFile("../../docs/how-to/clusters-that-report-to-azure.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(guide), "```yaml\nserver:\n")
	text, _, ended := strings.Cut(text, "```")
	if !ok || !ended {
		t.Fatal("the guide has no values for the chart")
	}
	made, problems := renderedChart(t, "server:\n"+text+"  config: {controlPlanes: [a], url: 'https://k.example'}\n")
	if problems != "" {
		t.Fatal(problems)
	}
	all := objects(t, made)
	template := all["Deployment"]["spec"].(map[string]any)["template"].(map[string]any)
	account := all["ServiceAccount"]["metadata"].(map[string]any)
	got := []any{
		template["metadata"].(map[string]any)["labels"].(map[string]any)["azure.workload.identity/use"],
		template["spec"].(map[string]any)["serviceAccountName"], account["annotations"].(map[string]any)["azure.workload.identity/client-id"],
	}
	if diff := cmp.Diff([]any{"true", account["name"], "22222222-2222-2222-2222-222222222222"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheChartKeepsItsSelectors: labels of users do not change which pods a Deployment has.
func TestTheChartKeepsItsSelectors(t *testing.T) {
	made, problems := renderedChart(t, "{server: {enabled: false}, agent: {enabled: true, server: 'https://k.test', cluster: c, podLabels: {app.kubernetes.io/component: x, team: blue}}}")
	if problems != "" {
		t.Fatal(problems)
	}
	labels := objects(t, made)["Deployment"]["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any)
	if labels["app.kubernetes.io/component"] != "agent" || labels["team"] != "blue" {
		t.Errorf("got %v", labels)
	}
}

// TestTheChartKnowsTheConfiguration: the schema of the values has that of the server's configuration. Run it with -update after that has changed.
func TestTheChartKnowsTheConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../docs/schemas/serve.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema, "$id")
	delete(schema, "$schema")
	line, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(chartFolder, "values.schema.json")
	values, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(values), "    \"serve\": ")
	if !ok {
		t.Fatal("the schema of the values has no definition of serve")
	}
	wantFile(t, path, before+"    \"serve\": "+string(line)+"\n  }\n}\n")
}

// checkChart renders the chart with values, and checks its objects and the server's configuration.
func checkChart(t *testing.T, text string) {
	t.Helper()
	made, problems := renderedChart(t, text)
	if problems != "" {
		t.Fatal(problems)
	}
	checker, err := check.New(check.Policy{Levels: map[string]check.Level{check.RuleUnknownKind: check.Off, check.RuleClusterScoped: check.Off}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range checker.Check(maps.All(map[string][]byte{"kalypso.yaml": made})) {
		t.Errorf("%s", f)
	}
	checkServeConfiguration(t, made)
}

// TestTheChartRefusesWrongValues with the name of the value, before anything is installed.
func TestTheChartRefusesWrongValues(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "controlPlanes",
		"{server: {config: {controlPlanes: [], url: 'https://k.example'}}}":                                                                                               "controlPlanes",
		"{server: {config: {controlPlanes: [a]}}}":                                                                                                                        "url",
		"{server: {config: {controlPlanes: [a], url: b, data: /elsewhere}}}":                                                                                              "data",
		"{server: {config: {controlPlanes: [a], url: 'https://k.example', controlPlane: b}}}":                                                                             "controlPlane",
		"{server: {config: {controlPlanes: [a], url: 'https://k.example', workers: many}}}":                                                                               "workers",
		"{server: {config: {controlPlanes: [a], url: 'https://k.example'}, httpRoute: {enabled: true}}}":                                                                  "parentRefs",
		"{server: {enabled: false, replicas: 0}}":                                                                                                                         "replicas",
		"{server: {config: {controlPlanes: [a], url: 'https://k.example'}, replicas: 2}}":                                                                                 "PostgreSQL",
		"{server: {config: {controlPlanes: [a], url: 'https://k.example', ledger: 'postgres://u@h/d'}, replicas: 2}}":                                                     "embedded forge",
		"{server: {config: {controlPlanes: [a], url: 'https://k.example', ledger: 'postgres://u@h/d', forges: [{url: 'https://github.com', tokenEnv: T}]}, replicas: 2}}": "volume",
		"{server: {enabled: false}, agent: {enabled: true}}":                                                                                                              "server",
		"{server: {enabled: false}, agent: {enabled: true, server: 'https://k.test'}}":                                                                                    "cluster",
		"{server: {enabled: false}, agent: {image: {digest: latest}}}":                                                                                                    "digest",
		"{server: {enabled: false}, agent: {watch: [things]}}":                                                                                                            "watch",
		"{server: {enabled: false}, agent: {server: 'https://user:password@k.example'}}":                                                                                  "server",
		"{server: {enabled: false}, operator: {allow: [github.com]}}":                                                                                                     "allow",
		"{server: {enabled: false}, operator: {namespaces: [A_B]}}":                                                                                                       "namespaces",
	} {
		made, problems := renderedChart(t, text)
		if made != nil || !strings.Contains(problems, want) {
			t.Errorf("%s: got %q, want an error about %q", text, problems, want)
		}
	}
}

// TestTheChartInstallsTheAgentOfRegister: the agent of the chart has the rights, and the settings, of the one that
// "kalypso cluster register --manifests" prints. Run it with -update after the rights have changed.
func TestTheChartInstallsTheAgentOfRegister(t *testing.T) {
	server, err := url.Parse("https://kalypso.acme.example")
	if err != nil {
		t.Fatal(err)
	}
	registered, err := manifests.Write(manifests.Config{
		Server: server, Cluster: "west-1", Image: "ghcr.io/kalypso-io/kalypso-agent:v0.0.0", Namespace: "kalypso",
		Kinds: reconciler.Watched(), Explained: reconciler.Explained(),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := objects(t, registered)
	if update.Get().(bool) {
		rules, err := yaml.Marshal(want["ClusterRole"]["rules"])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(chartFolder, "agent-rules.yaml"), rules, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, problems := renderedChart(t, "{server: {enabled: false}, agent: {enabled: true, server: 'https://kalypso.acme.example', cluster: west-1, networkPolicy: {enabled: false}}}")
	if problems != "" {
		t.Fatal(problems)
	}
	got := objects(t, made)
	if diff := cmp.Diff(want["ClusterRole"]["rules"], got["ClusterRole"]["rules"]); diff != "" {
		t.Errorf("rights (-register +chart):\n%s", diff)
	}
	pod := func(all map[string]map[string]any) any {
		spec := all["Deployment"]["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		container := spec["containers"].([]any)[0].(map[string]any)
		delete(container, "imagePullPolicy")
		return spec
	}
	if diff := cmp.Diff(pod(want), pod(got)); diff != "" {
		t.Errorf("pod (-register +chart):\n%s", diff)
	}
}

// TestTheChartInstallsTheOperator with the rights that its program says it needs, and the definitions of its kinds. Run it with -update
// after either has changed.
func TestTheChartInstallsTheOperator(t *testing.T) {
	folder := filepath.Join(chartFolder, "operator")
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"tenant-rules.yaml": operator.TenantRules(), "cluster-rules.yaml": operator.ClusterRules(), "lease-rules.yaml": operator.LeaseRules(),
	} {
		text, err := yaml.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join(folder, name), string(text))
	}
	definitions, err := filepath.Glob("../../api/crds/scheduler.kalypso.io_*.yaml")
	if err != nil || len(definitions) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, path := range definitions {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Helm keeps the definitions, and with them the objects, when the chart is uninstalled.
		before, after, ok := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "  annotations:\n")
		if !ok {
			t.Fatalf("%s has no annotations", path)
		}
		wantFile(t, filepath.Join(folder, "definitions", filepath.Base(path)), before+"  annotations:\n    helm.sh/resource-policy: keep\n"+after)
	}
	made, problems := renderedChart(t, "{server: {enabled: false}, operator: {enabled: true}}")
	if problems != "" {
		t.Fatal(problems)
	}
	if n := bytes.Count(made, []byte("\nkind: CustomResourceDefinition\n")); n != len(definitions) {
		t.Errorf("the chart installs %d definitions, want %d", n, len(definitions))
	}
	one, problems := renderedChart(t, "{server: {enabled: false}, operator: {enabled: true, definitions: false, namespaces: [shop]}}")
	if problems != "" {
		t.Fatal(problems)
	}
	bindings := objects(t, one)
	if got := bindings["ClusterRoleBinding"]["metadata"].(map[string]any)["name"]; got != "kalypso-operator-namespaces" {
		t.Errorf("with namespaces, the only binding for the whole cluster is %q, want that for namespaces", got)
	}
}

// wantFile compares a generated file, or writes it with -update.
func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if update.Get().(bool) {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run this test with -update", path, err)
	}
}

// objects returns the objects of manifests by kind.
func objects(t *testing.T, text []byte) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if kind, ok := object["kind"].(string); ok {
			all[kind] = object
		}
	}
	return all
}
