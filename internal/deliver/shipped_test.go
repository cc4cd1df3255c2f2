package deliver_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

const (
	shopWorkload   = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop}\nspec:\n  deploymentTargets: [{name: t, environment: dev}]\n"
	shopDelivery   = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec: {"
	shopDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n        - {name: side, image: proxy:1}\n        - name: shop\n          image: "
)

// forms are applications of every kind of delivery.
var forms = map[string]map[string]string{
	"chart": {
		"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm/values.yaml": "image: {repository: git.example/shop, tag: none, digest: ''}\n",
		"helm/templates/x.yaml": shopDeployment + `"{{ .Values.image.repository }}:{{ .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}"` + "\n",
	},
	"chart with a version and values": {
		"delivery.yaml":   shopDelivery + "images: [{name: shop, repository: image.repository, tag: image.tag, digest: image.digest, version: app.version}]}\n",
		"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm/values.yaml": "image: {repository: git.example/shop, tag: none, digest: ''}\ngreeting: hi $PLACE\n",
		"helm/templates/x.yaml": shopDeployment + `"{{ .Values.image.repository }}:{{ .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}"` + "\n",
		"helm/templates/y.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata:\n  version: {{ .Values.app.version }}\n  greeting: {{ .Values.greeting }}\n",
	},
	"chart that ignores the version": {
		"delivery.yaml":   shopDelivery + "images: [{name: shop, repository: image.repository, tag: image.tag, digest: image.digest, version: app.version}]}\n",
		"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm/values.yaml": "image: {repository: git.example/shop, tag: none, digest: ''}\n",
		"helm/templates/x.yaml": shopDeployment + `"{{ .Values.image.repository }}:{{ .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}"` + "\n",
	},
	"chart that ignores digests": {
		"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm/values.yaml": "image: {repository: git.example/shop, tag: none}\n",
		"helm/templates/x.yaml": shopDeployment + `"{{ .Values.image.repository }}:{{ .Values.image.tag }}"` + "\n",
	},
	"chart that ignores the image": {"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm/templates/x.yaml": shopDeployment + "git.example/shop:3\n"},
	"chart with a text as image": {
		"helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm/values.yaml": "image: nginx\n",
		"helm/templates/x.yaml": shopDeployment + "{{ .Values.image | quote }}\n",
	},
	"kustomization": {
		"delivery.yaml": shopDelivery + "kustomization: deploy}\n", "deploy/x.yaml": shopDeployment + "git.example/shop:3\n",
		"deploy/kustomization.yaml": "resources: [x.yaml]\n",
	},
	"manifests":                       {"delivery.yaml": shopDelivery + "manifests: deploy}\n", "deploy/x.yaml": shopDeployment + "git.example/shop:3 # the image\n"},
	"manifests without the image":     {"delivery.yaml": shopDelivery + "manifests: deploy}\n", "deploy/x.yaml": shopDeployment + "other:3\n"},
	"services, which CI never builds": {"delivery.yaml": shopDelivery + "services: [{name: shop, chart: {repository: 'https://charts.example', name: x, version: 1.0.0}}]}\n"},
}

func shopOf(form string) repos {
	source := map[string]string{"workload.yaml": shopWorkload}
	for at, content := range forms[form] {
		source[at] = content
	}
	return repos{
		"https://git.example/shop main":        source,
		"https://git.example/shop-configs dev": {"t/values.yaml": "a: 1\n"},
		"https://git.example/shop-gitops dev":  {"README.md": "manifests\n"},
	}
}

// Of every kind of delivery: the image and version that CI built, and the values and variables that were set, are in the manifests, and so
// in everything that is said about them; or the target is held, or the command fails, and says why.
func TestWhatShipsIsWhatWasBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(slices.Sorted(maps.Keys(forms))).Draw(t, "form")
		tag := rapid.StringMatching(`[1-9][0-9]{0,2}(\.[0-9])?`).Draw(t, "tag")
		digest := rapid.SampledFrom([]string{"", "@sha256:" + strings.Repeat("ab", 32)}).Draw(t, "digest")
		version := rapid.StringMatching(`v[0-9]\.[0-9]`).Draw(t, "version")
		greeting := rapid.SampledFrom([]string{"", "set", "variable"}).Draw(t, "greeting")
		ship(t.Context(), t, form, tag, digest, version, greeting)
	})
	var delivered []string
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		if ship(t.Context(), t, form, "17", "", "v1.2", "") {
			delivered = append(delivered, form)
		}
	}
	want := []string{"chart", "chart that ignores digests", "chart with a version and values", "kustomization", "manifests"}
	if !slices.Equal(delivered, want) {
		t.Errorf("delivered: got %q, want %q", delivered, want)
	}
}

// ship drafts the delivery of a build and checks it. It reports whether the build is delivered.
func ship(ctx context.Context, t rapid.TB, form, tag, digest, version, greeting string) bool {
	t.Helper()
	build := deliver.Build{Version: version, Image: tag + digest}
	request := deliver.Request{Source: "https://git.example/shop"}
	switch greeting {
	case "set":
		request.Set = []string{"greeting=hello"}
	case "variable":
		request.Vars = map[string]string{"PLACE": "Berlin"}
	}
	r := shopOf(form)
	d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
	draft, err := d.Draft(ctx, deliver.DraftRequest{Request: request, Environment: "dev", Build: build})
	if err != nil {
		if greeting == "" || !strings.Contains(err.Error(), map[string]string{"set": "greeting", "variable": "PLACE"}[greeting]) {
			t.Fatalf("%s: %v", form, err)
		}
		return false
	}
	files := ""
	for _, c := range draft.Changes() {
		files += string(c.Content)
	}
	if target := draft.Plan.Targets[0]; target.Op == plan.Held {
		reason := target.Reason.Message
		if !strings.Contains(reason, tag) && !strings.Contains(reason, strings.TrimPrefix(digest, "@")) && !strings.Contains(reason, build.Version) {
			t.Errorf("%s: held without what was built: %s", form, reason)
		}
		if strings.Contains(files, build.Version) && strings.Contains(files, "kind: DeploymentDescriptor") {
			t.Errorf("%s: a descriptor names a build that is not there:\n%s", form, files)
		}
		return false
	}
	if form != "chart with a version and values" && greeting != "" {
		t.Errorf("%s: a value that nothing uses was accepted", form)
	}
	image := "git.example/shop:" + tag + digest
	wants := []string{"image: proxy:1", "\n    version: " + build.Version + "\n"}
	if form == "chart with a version and values" {
		wants = append(wants, "\n  version: "+build.Version+"\n", "\n  greeting: "+map[string]string{"": "hi $PLACE", "set": "hello", "variable": "hi Berlin"}[greeting]+"\n")
	}
	for _, want := range wants {
		if !strings.Contains(files, want) {
			t.Errorf("%s: want %q, got\n%s", form, want, files)
		}
	}
	if !strings.Contains(files, "image: "+image+"\n") && !strings.Contains(files, "image: \""+image+"\"\n") && !strings.Contains(files, "image: "+image+" # the image\n") {
		t.Errorf("%s: %s was asked for, got\n%s", form, image, files)
	}
	for _, text := range []string{draft.Plan.Title(), draft.Markdown(deliver.MarkdownOptions{})} {
		if !strings.Contains(text, build.Version) {
			t.Errorf("%s: the pull request does not name %s:\n%s", form, build.Version, text)
		}
	}
	if text := draft.Markdown(deliver.MarkdownOptions{}); !strings.Contains(text, build.Image) || !strings.Contains(text, image) {
		t.Errorf("%s: the pull request does not name %s:\n%s", form, image, text)
	}
	// Status, ledger and API read what is published.
	r.publish(draft)
	again, err := d.Draft(ctx, deliver.DraftRequest{Request: deliver.Request{Source: request.Source}, Environment: "dev"})
	if got := again.GitOps.Build; err != nil || got.Version != build.Version || got.Image != build.Image {
		t.Errorf("%s: %+v is published, want %+v (%v)", form, got, build, err)
	}
	return true
}

// A value of a part that is switched off is a warning, and one that the chart already has is nothing.
func TestValuesThatChangeNothing(t *testing.T) {
	r := shopOf("chart")
	r[sourceMain]["helm/values.yaml"] += "ingress: {enabled: false, host: a}\nreplicas: 2\n"
	r[sourceMain]["helm/templates/ingress.yaml"] = "{{ if .Values.ingress.enabled }}\nkind: Ingress\napiVersion: v1\nmetadata: {name: {{ .Values.ingress.host }}}\n{{ end }}\n"
	for set, want := range map[string]string{"ingress.host=b": `the value "ingress.host" that was set changes no manifest in dev`, "replicas=2": "", "replicas=3": `the value "replicas" that was set`} {
		d := mustDraft(t, r, func(w *deliver.DraftRequest) { w.Request.Set = []string{set} })
		got := ""
		for _, p := range d.Plan.Problems {
			got += p.Message
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", set, got, want)
		}
	}
	for _, lenient := range []bool{false, true} {
		d, err := draft(t, r, func(w *deliver.DraftRequest) { w.Request.Set, w.Lenient = []string{"replicaz=3"}, lenient })
		if (err == nil) != lenient || lenient && len(d.Plan.Problems) != 1 {
			t.Errorf("lenient %v: got %v", lenient, err)
		}
	}
}

// A value or variable that nothing takes is an error.
func TestFlagsWithoutUse(t *testing.T) {
	for _, form := range []string{"kustomization", "manifests"} {
		for _, request := range []deliver.Request{{Set: []string{"a=1"}}, {SetString: []string{"a=1"}}, {Vars: map[string]string{"A": "1"}}} {
			request.Source = "https://git.example/shop"
			_, err := (&deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: shopOf(form), Charts: localCharts{}}}).Draft(
				t.Context(), deliver.DraftRequest{Request: request, Environment: "dev"})
			if err == nil || !strings.Contains(err.Error(), "which has no") {
				t.Errorf("%s: got %v", form, err)
			}
		}
	}
}
