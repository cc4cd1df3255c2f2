package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/definition"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// workload has the targets "environment/name" or "environment/name=path".
func workload(targets ...string) *scheduler.Workload {
	w := &scheduler.Workload{}
	w.Name = "hello"
	for _, text := range targets {
		environment, name, _ := strings.Cut(text, "/")
		name, at, _ := strings.Cut(name, "=")
		w.Spec.DeploymentTargets = append(w.Spec.DeploymentTargets, scheduler.WorkloadTarget{
			Name:                 name,
			DeploymentTargetSpec: scheduler.DeploymentTargetSpec{Environment: environment, Manifests: map[string]string{"path": at}},
		})
	}
	return w
}

func complete(t testing.TB, spec string, w *scheduler.Workload) *app.Delivery {
	t.Helper()
	d := &app.Delivery{}
	if err := yaml.UnmarshalStrict([]byte(spec), &d.Spec); err != nil {
		t.Fatal(err)
	}
	return app.Complete(d, w, "https://git.example.com/hello-src")
}

func messages(problems []fleet.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s %s: %s\n", p.Severity, p.Position, p.Message)
	}
	return b.String()
}

func Example() {
	w := workload("dev/functional-test=./functional-test", "stage/uat-test")
	d := app.Complete(nil, w, "https://git.example.com/hello-src")
	folders := values.Folders([]string{"values.yaml", "eu/functional-test/values.yaml"})

	pairs, _ := definition.Match(d, "dev", w.Spec.DeploymentTargets, folders)
	targets, _ := definition.Targets(d, "dev", pairs, definition.Build{
		Version: "1.4.0", Images: map[string]definition.Image{"": {Repository: "registry.example.com/hello", Tag: "1.4.0"}},
	})
	for _, t := range targets {
		fmt.Println(t.Name, t.Release, t.Layers, t.Image["image.tag"])
	}
	// Output:
	// functional-test hello [values.yaml eu/functional-test/values.yaml] 1.4.0
}

func TestRead(t *testing.T) {
	files := []chart.File{
		{Path: "workload/workload.yaml", Content: []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: hello}\n---\napiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: hello}\nspec: {chart: {path: deploy}}\n")},
		{Path: "services/nginx.yaml", Content: []byte("name: nginx\nhelm: {repository: 'https://charts.example.com', chart: ingress, version: 1.2.3}\n")},
		{Path: "values.yaml", Content: []byte("name: x\nhelm: text\n")},
		{Path: "broken.yaml", Content: []byte("a: [")},
		{Path: "link.yaml", Content: []byte("apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: linked}\n"), Symlink: true},
	}
	d, problems := definition.Read("main", files)
	if len(problems) > 0 || d.Unreadable {
		t.Errorf("got %s", messages(problems))
	}
	if got := d.For("hello"); got == nil || got.Spec.Chart.Path != "deploy" || len(got.Spec.Services) > 0 {
		t.Errorf("got %+v", got)
	}
	if got := d.For("platform-services"); got == nil || len(got.Spec.Services) != 1 || got.Spec.Services[0].Chart.Name != "ingress" {
		t.Errorf("got %+v", got)
	}
	if got := (&definition.Definition{}).For("x"); got != nil {
		t.Errorf("got %+v", got)
	}
	if got := d.Deliveries[0].Position.String(); got != "workload/workload.yaml:5" {
		t.Errorf("at %s", got)
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: hello}\nspec: "
	for text, want := range map[string]string{
		head + "{colour: red}":                                                                            `unknown field "colour"`,
		head + "{chart: {path: a}, kustomization: b}":                                                     "only one of",
		head + "{chart: {path: a, version: '1'}}":                                                         "not both",
		head + "{chart: {repository: 'https://x'}}":                                                       "neither a path in the source, nor a repository and a version",
		head + "{chart: {repository: 'https://x', version: '1'}}":                                         "has no name",
		head + "{chart: {path: ../x}}":                                                                    "chart: ",
		head + "{gitops: {path: /x}}":                                                                     "gitops.path: ",
		head + "{workload: Not_A_Label}":                                                                  "workload \"Not_A_Label\" is not a DNS label",
		head + "{config: {targets: [{name: a, folder: ../b}]}}":                                           "the folder of a",
		head + "{environments: [{name: dev}, {name: dev}]}":                                               `environment "dev" is there twice`,
		head + "{environments: [{name: dev, promotion: {after: [qa]}}]}":                                  `comes after "qa", which is none`,
		head + "{environments: [{name: a, promotion: {after: [b]}}, {name: b, promotion: {after: [a]}}]}": `environment "a" comes after itself`,
		head + "{release: &x hello, workload: *x}":                                                        "aliases",
		head + "[":                       "not valid YAML",
		head + "{}\n---\n" + head + "{}": `workload "hello" has another delivery in x.yaml:1`,
		strings.Replace(head, "v1alpha1", "v9", 1) + "{}":       "the API version",
		strings.Replace(head, "Delivery", "Deliveri", 1) + "{}": "is not a kind",
		"name: Nginx\nhelm: {repository: x}":                    "the chart of service Nginx",
		"name: nginx\nhelm: {chart: x, more: y}":                "unknown field",
		head + strings.Repeat("#", 1<<20):                       "more than the",
	} {
		d, problems := definition.Read("main", []chart.File{{Path: "x.yaml", Content: []byte(text)}})
		if got := messages(problems); !strings.Contains(got, want) || len(d.Deliveries) > 0 || !d.Unreadable {
			t.Errorf("%.200s\ngot %q, want %q", text, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	for name, tc := range map[string]struct {
		spec     string
		targets  []string
		files    []string
		want     []definition.Pair
		problems string
	}{
		"by name at any depth": {
			targets: []string{"dev/a=./a", "dev/b=out/b", "stage/c"}, files: []string{"values.yaml", "a/values.yaml", "x/y/b/values.yaml"},
			want: []definition.Pair{{Target: "a", Folder: "a", Layers: []string{"values.yaml", "a/values.yaml"}}, {Target: "b", Folder: "out/b", Layers: []string{"values.yaml", "x/y/b/values.yaml"}}},
		},
		"as the delivery says": {
			spec: "config: {targets: [{name: a, folder: ./x/one/}]}", targets: []string{"dev/a", "dev/one"}, files: []string{"x/one/values.yaml", "y/one/values.yaml"},
			want: []definition.Pair{{Target: "a", Folder: "a", Layers: []string{"x/one/values.yaml"}}, {Target: "one", Folder: "one", Layers: []string{"y/one/values.yaml"}}},
		},
		"one file for all": {
			targets: []string{"dev/a", "dev/b"}, files: []string{"values.yaml"},
			want: []definition.Pair{{Target: "a", Folder: "a", Layers: []string{"values.yaml"}}, {Target: "b", Folder: "b", Layers: []string{"values.yaml"}}},
		},
		"nothing for a target": {
			targets: []string{"dev/a"}, files: []string{"b/values.yaml"},
			want: []definition.Pair{{Target: "b", Folder: "b", Layers: []string{"b/values.yaml"}}},
			problems: "error : target \"a\" of environment \"dev\" has no folder \"a\" with a values.yaml in the configuration\n" +
				"notice b/values.yaml: folder \"b\" is rendered, and no target of environment \"dev\" in the Workload names it\n",
		},
		"two for a target": {
			targets: []string{"dev/a"}, files: []string{"x/a/values.yaml", "y/a/values.yaml"},
			problems: "error : target \"a\" of environment \"dev\" could be rendered with folder \"x/a\" or \"y/a\"\n",
		},
		"another path": {
			spec: "gitops: {path: apps/hello}", targets: []string{"dev/a=apps/hello/a", "dev/b=elsewhere/b"}, files: []string{"values.yaml"},
			want:     []definition.Pair{{Target: "a", Folder: "a", Layers: []string{"values.yaml"}}, {Target: "b", Folder: "b", Layers: []string{"values.yaml"}}},
			problems: "warning : the Workload says that the manifests of target \"b\" are in \"elsewhere/b\", which is not below gitops.path \"apps/hello\"\n",
		},
		"without values": {
			spec: "kustomization: 'overlays/{target}'", targets: []string{"dev/a"}, files: []string{"b/values.yaml"},
			want: []definition.Pair{{Target: "a", Folder: "a"}},
		},
		"services": {
			spec:    "services: [{name: nginx, chart: {repository: 'oci://x/nginx', version: '1'}}, {name: redis, chart: {repository: 'oci://x/redis', version: '1'}}]",
			targets: []string{"dev/nginx-eu"}, files: []string{"values.yaml", "nginx/eu/values.yaml", "nginx/us/values.yaml"},
			want: []definition.Pair{
				{Target: "nginx-eu", Folder: "nginx/eu", Layers: []string{"values.yaml", "nginx/eu/values.yaml"}, Service: "nginx"},
				{Target: "nginx-us", Folder: "nginx/us", Layers: []string{"values.yaml", "nginx/us/values.yaml"}, Service: "nginx"},
				{Target: "redis", Folder: "redis", Service: "redis"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := workload(tc.targets...)
			pairs, problems := definition.Match(complete(t, tc.spec, w), "dev", w.Spec.DeploymentTargets, values.Folders(tc.files))
			if diff := cmp.Diff(tc.want, pairs); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := messages(problems); got != tc.problems {
				t.Errorf("got %q, want %q", got, tc.problems)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	w := workload("dev/a")
	d := complete(t, `{kustomization: "overlays/{environment}/{target}", environments: [{name: dev, kubernetes: {version: "1.30"}}]}`, w)
	got, err := definition.Targets(d, "dev", []definition.Pair{{Target: "a"}}, definition.Build{})
	if err != nil || got[0].Folder != "overlays/dev/a" || got[0].Kubernetes.Version != "1.30" || definition.Form(d) != chart.FormKustomization {
		t.Errorf("got %+v and %v", got, err)
	}
	d = complete(t, `{config: {path: ./apps/hello/}, images: [{name: web, tag: web.tag}, {name: worker, tag: worker.tag, digest: worker.digest, version: version}]}`, w)
	got, err = definition.Targets(d, "dev", []definition.Pair{{Target: "a", Layers: []string{"values.yaml"}}}, definition.Build{
		Version: "1.4.0", Images: map[string]definition.Image{"": {Tag: "1"}, "worker": {Tag: "2", Digest: "sha256:abc"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"web.tag": "1", "worker.tag": "2", "worker.digest": "sha256:abc", "version": "1.4.0"}
	if diff := cmp.Diff(want, got[0].Image); diff != "" || got[0].Layers[0] != "apps/hello/values.yaml" {
		t.Errorf("%s %v", diff, got[0].Layers)
	}
	if _, err := definition.Targets(d, "dev", nil, definition.Build{Images: map[string]definition.Image{"other": {}}}); err == nil || !strings.Contains(err.Error(), "does not know") {
		t.Errorf("got %v", err)
	}
}
