package carry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
)

// repositories are files by "URL branch path".
type repositories map[string]string

func (r repositories) Resolve(_ context.Context, repository, name string) (carry.Reference, error) {
	branch := strings.TrimPrefix(name, "refs/heads/")
	for key := range r {
		if strings.HasPrefix(key, repository+" "+branch+" ") {
			return carry.Reference{Name: "refs/heads/" + branch, Commit: strings.Repeat("b", 40)}, nil
		}
	}
	return carry.Reference{}, errors.New("repository not found")
}

func (r repositories) Files(_ context.Context, repository string, at carry.Reference, folder string) ([]chart.File, error) {
	var files []chart.File
	for key, content := range r {
		name, ok := strings.CutPrefix(key, repository+" "+strings.TrimPrefix(at.Name, "refs/heads/")+" ")
		if ok && (folder == "" || strings.HasPrefix(name, folder+"/")) {
			files = append(files, chart.File{Path: name, Content: []byte(content), Symlink: strings.HasPrefix(content, "->")})
		}
	}
	slices.SortFunc(files, func(a, b chart.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func (r repositories) Bundle(_ context.Context, _ string, references []carry.Reference, w io.Writer) error {
	_, err := fmt.Fprintln(w, references)
	return err
}

func (r repositories) Same(a, b string) bool {
	return strings.TrimSuffix(a, ".git") == strings.TrimSuffix(b, ".git")
}

// registries has every image but those called none, and one chart.
type registries struct{}

func (registries) Image(_ context.Context, image chart.Image) (carry.Artifact, error) {
	if strings.HasSuffix(image.Repository, "/none") {
		return carry.Artifact{}, errors.New("the registry does not have it")
	}
	return carry.Artifact{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: "sha256:" + sum(image.String()), Size: 1}, nil
}

func (registries) Chart(_ context.Context, ref app.Chart) (carry.Artifact, string, []chart.File, error) {
	if ref.Name != "shop" {
		return carry.Artifact{}, "", nil, errors.New("the repository has no such chart")
	}
	files := []chart.File{
		{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: shop\nversion: 1.2.0\n")},
		{Path: "values.yaml", Content: []byte("tag: \"1\"\n")},
		{Path: "templates/pod.yaml", Content: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{image: \"registry.example/charted:{{ .Values.tag }}\"}]}\n")},
	}
	return carry.Artifact{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: "sha256:" + sum("chart"), Size: 1}, "1.2.0", files, nil
}

// renderer renders in this process.
type renderer struct{}

func (renderer) Render(_ context.Context, job *chart.Job, _ *chart.Result) (*chart.Result, error) {
	return charttest.Run(job, nil), nil
}

func pod(image string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{image: " + image + "}]}\n"
}

func argo(source string) []byte {
	return []byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {" + source + "}}\n")
}

var example = repositories{
	"https://git.example/shop prod eu/a.yaml":                    pod("registry.example/plain:1"),
	"https://git.example/shop prod eu/link/b.yaml":               pod("registry.example/plain@sha256:" + sum("x")),
	"https://git.example/shop prod eu/README.md":                 "image: none",
	"https://git.example/shop prod built/kustomization.yaml":     "resources: [pod.yaml]\nimages: [{name: registry.example/plain, newTag: built}]\n",
	"https://git.example/shop prod built/pod.yaml":               pod("registry.example/plain:1"),
	"https://git.example/shop prod overlay/kustomization.yaml":   "resources: [../built]\n",
	"https://git.example/shop prod broken/a.yaml":                "a: [",
	"https://git.example/shop prod linked/a.yaml":                "->../eu/a.yaml",
	"https://git.example/shop prod group/pod.yaml":               pod("registry.example/group:1"),
	"https://git.example/shop prod group/one/kustomization.yaml": "resources: [pod.yaml]\nimages: [{name: registry.example/plain, newTag: one}]\n",
	"https://git.example/shop prod group/one/pod.yaml":           pod("registry.example/plain:1"),
	"https://git.example/shop prod group/two/kustomization.yaml": "resources: [../../built]\n",
	"https://git.example/shop prod fleet/fleet.yaml":             "helm: {chart: x}",
	"https://git.example/shop prod none/a.yaml":                  pod("registry.example/none:1"),
	"https://git.example/shop prod odd/a.yaml":                   pod(`"${IMAGE}"`),
}

func gather(t *testing.T, files map[string]map[string][]byte) *carry.Manifest {
	t.Helper()
	request := carry.Request{
		Environment: "prod", ClusterType: "drone", Made: manifest().Made,
		GitOps: carry.GitOps{Repository: "https://ann:hunter2@git.example/gitops", Branch: "prod", Commit: strings.Repeat("a", 40)},
	}
	for target, of := range files {
		request.Assignments = append(request.Assignments, carry.Assignment{Target: target, Files: of})
	}
	packer := &carry.Packer{Repositories: example, Registries: registries{}, Renderer: renderer{}}
	m, err := packer.Gather(t.Context(), request, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGather finds the images of each form of manifests.
func TestGather(t *testing.T) {
	m := gather(t, map[string]map[string][]byte{
		"plain":  {"reconciler.yaml": argo("repoURL: https://git.example/shop, targetRevision: prod, path: eu"), "namespace.yaml": []byte(pod("registry.example/pause:3"))},
		"built":  {"reconciler.yaml": argo("repoURL: https://git.example/shop.git, targetRevision: prod, path: built")},
		"chart":  {"reconciler.yaml": argo("repoURL: https://charts.example, chart: shop, targetRevision: 1.x, helm: {valuesObject: {tag: two}}")},
		"groups": {"reconciler.yaml": argo("repoURL: https://git.example/shop, targetRevision: prod, path: group")},
		"shells": {"reconciler.yaml": argo("repoURL: https://git.example/shop, targetRevision: prod, path: overlay"), "platform-config.sh": []byte("image: x")},
	})
	want := []carry.Target{
		{Name: "built"},
		{Name: "chart", Images: []string{"registry.example/charted:two"}},
		{Name: "groups", Images: []string{"registry.example/group:1", "registry.example/plain:built", "registry.example/plain:one"}},
		{Name: "plain", Images: []string{"registry.example/pause:3", "registry.example/plain:1", "registry.example/plain@sha256:" + sum("x")}},
		{Name: "shells", Images: []string{"registry.example/plain:built"}},
	}
	if diff := cmp.Diff(want, m.Targets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(m.Images) != 7 || len(m.Charts) != 1 || m.Charts[0].Version != "1.2.0" {
		t.Errorf("got %+v and %+v", m.Images, m.Charts)
	}
	// The repository that is not known by that name is the one that is missing.
	if len(m.Missing) != 1 || m.Missing[0].Name != "https://git.example/shop.git" {
		t.Errorf("missing: %+v", m.Missing)
	}
	if len(m.Repositories) != 2 || strings.Contains(fmt.Sprint(m.Repositories, m.GitOps), "hunter2") {
		t.Errorf("got %+v", m.Repositories)
	}
}

// TestGatherForClusters adds what clusters with folders of their own need, which can be more than their type needs.
func TestGatherForClusters(t *testing.T) {
	sourced := func(tag string) map[string][]byte {
		return map[string][]byte{"reconciler.yaml": argo("repoURL: https://charts.example, chart: shop, targetRevision: 1.x, helm: {valuesObject: {tag: " + tag + "}}")}
	}
	rendered := new(counted)
	packer := &carry.Packer{Repositories: example, Registries: registries{}, Renderer: rendered}
	m, err := packer.Gather(t.Context(), carry.Request{
		Environment: "prod", ClusterType: "drone", Made: manifest().Made,
		GitOps: carry.GitOps{Repository: "https://git.example/gitops", Branch: "prod", Commit: strings.Repeat("a", 40)},
		Assignments: []carry.Assignment{
			{Target: "shop", Files: sourced("one")}, {Cluster: "vessel-8", Target: "shop", Files: sourced("one")}, {Cluster: "vessel-7", Target: "shop", Files: sourced("two")},
		},
	}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := []carry.Target{
		{Name: "clusters/vessel-7/shop", Images: []string{"registry.example/charted:two"}},
		{Name: "clusters/vessel-8/shop", Images: []string{"registry.example/charted:one"}},
		{Name: "shop", Images: []string{"registry.example/charted:one"}},
	}
	if diff := cmp.Diff(want, m.Targets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(m.Images) != 2 || rendered.jobs != 2 {
		t.Errorf("got %+v from %d jobs", m.Images, rendered.jobs)
	}
}

// counted renders in this process, and counts.
type counted struct{ jobs int }

func (c *counted) Render(_ context.Context, job *chart.Job, _ *chart.Result) (*chart.Result, error) {
	c.jobs++
	return charttest.Run(job, nil), nil
}

// TestGatherNamesWhatIsMissing, and that each can be allowed.
func TestGatherNamesWhatIsMissing(t *testing.T) {
	flux := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a}\nspec: {url: oci://registry.example/manifests, ref: {tag: v1}}\n"
	for name, tc := range map[string]struct{ file, want string }{
		"image":     {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: none")), "image registry.example/none:1: the registry does not have it"},
		"not image": {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: odd")), `image ${IMAGE}: "${IMAGE}" is not an image reference`},
		"broken":    {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: broken")), "target broken: its images are not known: broken/a.yaml"},
		"linked":    {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: linked")), "target linked: its images are not known: linked/a.yaml is a symbolic link"},
		"absent":    {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: absent")), `target absent: its images are not known: prod has no folder "absent"`},
		"traversal": {string(argo("repoURL: https://git.example/../../etc/shop, targetRevision: prod")), "repository https://git.example/../../etc/shop: the URL"},
		"escaped":   {string(argo("repoURL: https://git.example/%2e%2e/shop, targetRevision: prod")), "repository https://git.example/%2e%2e/shop: the URL"},
		"spelling":  {string(argo("repoURL: https://charts.example/Stable, chart: shop")), "chart shop * of https://charts.example/Stable: it cannot be in a registry"},
		"outside":   {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: ../x")), "target outside: its images are not known: the path"},
		"elsewhere": {string(argo("repoURL: https://git.example/other, targetRevision: prod")), "repository https://git.example/other: repository not found"},
		"chart":     {string(argo("repoURL: https://charts.example, chart: other, targetRevision: 1.0.0")), "chart other 1.0.0 of https://charts.example: the repository has no such chart"},
		"values":    {string(argo("repoURL: https://charts.example, chart: shop, helm: {valueFiles: [a.yaml]}")), "target values: its images are not known: its chart has valueFiles"},
		"changed":   {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: eu, kustomize: {images: [a:b]}")), "target changed: its images are not known: its Application has kustomize"},
		"fleet":     {string(argo("repoURL: https://git.example/shop, targetRevision: prod, path: fleet")), "target fleet: its images are not known: fleet.yaml can name charts"},
		"artifact":  {flux, "target registry.example/manifests:v1: the images of the manifests in this artifact are not known"},
		"nothing":   {"apiVersion: v1\nkind: ConfigMap\n", "target nothing: reconciler.yaml: none of its objects is a source"},
		"unread":    {"a: [", "target unread: reconciler.yaml: "},
	} {
		m := gather(t, map[string]map[string][]byte{name: {"reconciler.yaml": []byte(tc.file)}})
		if len(m.Missing) != 1 {
			t.Errorf("%s: got %+v", name, m.Missing)
			continue
		}
		x := m.Missing[0]
		if got := fmt.Sprintf("%s %s: %s", x.Kind, x.Name, x.Reason); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
		if rest := m.Unallowed([]string{x.Name}); len(rest) != 0 {
			t.Errorf("%s: %+v is not allowed", name, rest)
		}
	}
}

// TestGatherStops when its context ends: what was not fetched is not what is missing.
func TestGatherStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	packer := &carry.Packer{Repositories: repositories{}, Registries: registries{}, Renderer: renderer{}}
	_, err := packer.Gather(ctx, carry.Request{
		Environment: "prod", ClusterType: "drone", GitOps: carry.GitOps{Repository: "a", Branch: "prod"},
		Assignments: []carry.Assignment{{Target: "a", Files: map[string][]byte{"reconciler.yaml": argo("repoURL: https://git.example/none")}}},
	}, t.TempDir())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestZarfPackages are valid by the fields of Zarf's schema, and have every file that they name.
func TestZarfPackages(t *testing.T) {
	description := []byte(`apiVersion: zarf.dev/v1alpha1
kind: ZarfPackageConfig
metadata: {name: prod-drone-shop}
components:
  - name: shop
    required: true
    manifests:
      - name: shop
        namespace: prod-drone-shop
        kustomizations: ["https://git.example/shop//eu?ref=prod", "https://git.example/shop//built?ref=prod", "https://git.example/other//x?ref=prod"]
`)
	assignments := []carry.Assignment{
		{Target: "shop", Files: map[string][]byte{"zarf.yaml": description, "namespace.yaml": []byte("kind: Namespace\n"), "platform-config.sh": []byte("A=1\n")}},
		{Target: "flux", Files: map[string][]byte{"reconciler.yaml": argo("repoURL: https://git.example/shop, targetRevision: prod, path: eu")}},
	}
	m := gather(t, map[string]map[string][]byte{"shop": assignments[0].Files, "flux": assignments[1].Files})
	packer := &carry.Packer{Repositories: example, Registries: registries{}, Renderer: renderer{}}
	files, err := packer.ZarfPackages(t.Context(), m, assignments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"shop/manifests/1/a.yaml", "shop/manifests/1/link/b.yaml", "shop/namespace.yaml", "shop/zarf.yaml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantText := `apiVersion: zarf.dev/v1alpha1
components:
- images:
  - registry.example/plain:1
  - registry.example/plain:built
  - registry.example/plain@sha256:` + sum("x") + `
  manifests:
  - files:
    - namespace.yaml
    name: shop-platform
  - files:
    - manifests/1/a.yaml
    - manifests/1/link/b.yaml
    kustomizations:
    - https://git.example/shop//built?ref=` + strings.Repeat("b", 40) + `
    - https://git.example/other//x?ref=prod
    name: shop
    namespace: prod-drone-shop
  name: shop
  required: true
kind: ZarfPackageConfig
metadata:
  name: prod-drone-shop
`
	if diff := cmp.Diff(wantText, string(files["shop/zarf.yaml"])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	validate(t, files["shop/zarf.yaml"])
}

func validate(t rapid.TB, text []byte) {
	t.Helper()
	schemaText, err := os.ReadFile("../render/testdata/zarf.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("zarf.json", document); err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.MustCompile("zarf.json").Validate(value); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
