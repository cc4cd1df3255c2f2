package bundle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// world is a control plane and its GitOps branch, both of which users and programs change.
type world struct {
	environment string
	files       map[string]string // of the control plane, in the layout of fleettest
	branch      map[string]string
}

// document is one file of a generated control plane, with the variants of its content.
type document struct {
	path  string
	write func(t *rapid.T) string
}

const group = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// documents are the files that a generated control plane can have. The last one determines where files are written.
var documents = []document{
	{"main/workload-a.yaml", registration("a")},
	{"main/workload-b.yaml", registration("b")},
	{"workloads/a/workload.yaml", workload("a")},
	{"workloads/b/workload.yaml", workload("b")},
	{"main/templates/ns.yaml", templateOf("ns", "namespace",
		"kind: Namespace\nmetadata: {name: \"{{ .Namespace }}\"}",
		"kind: Namespace\nmetadata: {name: \"{{ .Namespace }}\", labels: {size: \"{{ .ClusterTypeLabels.size }}\"}}",
		"kind: Namespace\nmetadata: {name: \"{{ .Labels.size }}\"}")},
	{"main/templates/cm.yaml", templateOf("cm", "config",
		"kind: ConfigMap\nmetadata: {name: c}\ndata:\n{{ toYaml .ConfigData | indent 2 }}",
		"kind: ConfigMap\nmetadata: {name: c}\ndata: {all: {{ toYaml .ConfigData | quote }}}\n# for {{ .Environment }}",
		"{{ .Broken")},
	{"main/templates/env.yaml", templateOf("env", "config",
		"X=1", "X=1\n  contentType: sh", "X={{ .ConfigData.X }}")},
	{"main/templates/git.yaml", templateOf("git", "reconciler",
		"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: \"{{ .Namespace }}\"}",
		"apiVersion: source.toolkit.fluxcd.io/v1beta1\nkind: GitRepository\nmetadata: {name: \"{{ .Manifests.repo }}\"}",
		"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: \"{{ if eq .ClusterType \"one\" }}{{ .Labels.absent }}{{ end }}\"}")},
	{"main/templates/default.yaml", templateOf("default", "namespace", "kind: Namespace\nmetadata: {name: own}")},
	{"env/base.yaml", func(t *rapid.T) string {
		return group + "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: https://example.com/c, branch: main, commit: " +
			rapid.SampledFrom([]string{"1f0c2aa111111111111111111111111111111111", "2f0c2aa111111111111111111111111111111111"}).Draw(t, "commit") + "}\n"
	}},
	{"env/one.yaml", clusterType("one")},
	{"env/two.yaml", clusterType("two")},
	{"env/one-x.yaml", clusterType("one-x")},
	{"env/cluster-k.yaml", cluster("k")},
	{"env/cluster-l.yaml", cluster("l")},
	{"env/policy-p.yaml", policy("p")},
	{"env/policy-q.yaml", policy("q")},
	{"env/config-x.yaml", layer("x")},
	{"env/config-y.yaml", layer("y")},
	{"main/config-z.yaml", layer("z")},
	{"env/schema.yaml", func(t *rapid.T) string {
		return group + "kind: ConfigSchema\nmetadata: {name: s, labels: {size: " + size3(t) + "}}\n" +
			"spec: {schema: {properties: {X: {type: " + rapid.SampledFrom([]string{"integer", "string"}).Draw(t, "type") + "}}}}\n"
	}},
	{"env/gitops.yaml", func(t *rapid.T) string {
		return group + "kind: GitOpsRepo\nmetadata: {name: g}\nspec: {repo: https://example.com/g, branch: dev, path: " +
			rapid.SampledFrom([]string{".", "clusters/dev"}).Draw(t, "root") + "}\n"
	}},
}

func size3(t *rapid.T) string {
	return rapid.SampledFrom([]string{"small", "large", "none"}).Draw(t, "size")
}

func registration(name string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		return group + "kind: WorkloadRegistration\nmetadata: {name: " + name + "}\nspec:\n  workspace: " +
			rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "workspace") +
			"\n  workload: {repo: https://example.com/" + name + ", branch: main, path: .}\n"
	}
}

func workload(name string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%skind: Workload\nmetadata: {name: %s}\nspec:\n  deploymentTargets:\n", group, name)
		for _, target := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x-t", "u", "v"}), 1, 3, rapid.ID).Draw(t, "targets") {
			fmt.Fprintf(&b, "    - {name: %s, environment: %s, labels: {size: %s}, manifests: {repo: \"%s\"}}\n",
				target, rapid.SampledFrom([]string{"dev", "dev", "prod"}).Draw(t, "environment"), size3(t),
				rapid.SampledFrom([]string{"r", "s", "a: b", "{{ .Broken"}).Draw(t, "repo"))
		}
		return b.String()
	}
}

// templateOf writes one of several texts. The later ones may fail for some or all assignments.
func templateOf(name, kind string, texts ...string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		text, more, _ := strings.Cut(rapid.SampledFrom(texts).Draw(t, "text"), "\n  contentType")
		if more != "" {
			more = "  contentType" + more + "\n"
		}
		if kind != "config" {
			text = "apiVersion: v1\n" + strings.TrimPrefix(text, "apiVersion: v1\n")
			if strings.Count(text, "apiVersion:") > 1 {
				text = strings.TrimPrefix(text, "apiVersion: v1\n")
			}
		}
		return group + "kind: Template\nmetadata: {name: " + name + "}\nspec:\n  type: " + kind + "\n" + more +
			"  manifests:\n    - |\n      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
	}
}

func clusterType(name string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		extends := ""
		if name == "two" && rapid.Bool().Draw(t, "extends") {
			extends = ", extends: one"
		}
		return group + "kind: ClusterType\nmetadata: {name: " + name + ", labels: {size: " + size3(t) + "}}\nspec: {reconciler: git, namespaceService: " +
			rapid.SampledFrom([]string{"ns", "default", "lost"}).Draw(t, "namespace") + ", configType: " +
			rapid.SampledFrom([]string{"cm", "none", "env", "configmap"}).Draw(t, "config") + extends + "}\n"
	}
}

func cluster(name string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		return group + "kind: Cluster\nmetadata: {name: " + name + "}\nspec: {clusterType: " +
			rapid.SampledFrom([]string{"one", "one", "two", "nothing"}).Draw(t, "type") + ", labels: {size: " + size3(t) + "}}\n"
	}
}

func policy(name string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		return group + "kind: SchedulingPolicy\nmetadata: {name: " + name + "}\nspec:\n  deploymentTargetSelector: {workspace: \"" +
			rapid.SampledFrom([]string{"", "red", "blue"}).Draw(t, "workspace") + "\"}\n  clusterTypeSelector: {labelSelector: {matchLabels: " +
			rapid.SampledFrom([]string{"{}", "{size: small}", "{size: large}"}).Draw(t, "size") + "}}\n"
	}
}

func layer(name string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		remark := rapid.SampledFrom([]string{"", "# a remark that moves everything\n"}).Draw(t, "remark")
		label := rapid.SampledFrom([]string{"", ", size: small", ", size: large", ", cluster-type: one", ", cluster: k", ", cluster: l, workload: a", ", workload: a", ", deployment-target: b-u"}).Draw(t, "label")
		value := rapid.SampledFrom([]string{"one", "'7'", "\"{{ .DeploymentTargetName }}\"", "'{{ .Literal }}'", "\"{{ .Labels.absent }}\""}).Draw(t, "value")
		return remark + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-" + name + ", labels: {platform-config: \"true\"" + label + "}}\n" +
			"data:\n  X: " + value + "\n  " + strings.ToUpper(name) + name + ": " + value + "\n"
	}
}

// drawWorld returns a readable control plane and an empty branch.
func drawWorld(t *rapid.T) *world {
	w := &world{environment: "dev", files: map[string]string{}, branch: map[string]string{}}
	for _, d := range documents {
		w.files[d.path] = d.write(t)
	}
	return w
}

// edit makes one change: a document is rewritten, deleted or broken, the branch is changed by hand, or the
// environment is renamed.
func (w *world) edit(t *rapid.T) {
	d := rapid.SampledFrom(documents).Draw(t, "document")
	switch rapid.SampledFrom([]string{"write", "write", "write", "delete", "break", "by hand", "rename"}).Draw(t, "edit") {
	case "write":
		w.files[d.path] = d.write(t)
	case "delete":
		delete(w.files, d.path)
	case "break":
		w.spoil(t, d)
	case "by hand":
		w.byHand(t)
	case "rename":
		w.environment = rapid.SampledFrom([]string{"dev", "prod"}).Draw(t, "name")
	}
}

// spoil makes a file, or the object in it, unreadable.
func (w *world) spoil(t *rapid.T, d document) {
	if rapid.Bool().Draw(t, "object only") {
		head, _, _ := strings.Cut(d.write(t), "\nspec:")
		head, _, _ = strings.Cut(head, "\ndata:")
		w.files[d.path] = head + "\nspec: 5\ndata: 5\n"
		return
	}
	// The rest of the document stays: a file without the word Template is known to define none.
	w.files[d.path] = "broken: [\n" + d.write(t)
}

// byHand changes, deletes or adds a file of the branch.
func (w *world) byHand(t *rapid.T) {
	names := append(paths(w.branch), "one/a-u/namespace.yaml", "one/a-u/notes.txt", "two/README.md", ".kalypso/inventory/one.json", "else.txt")
	name := rapid.SampledFrom(names).Draw(t, "file")
	if rapid.Bool().Draw(t, "delete") {
		delete(w.branch, name)
		return
	}
	w.branch[name] = rapid.SampledFrom([]string{"by hand\n", "{}", "{\"version\": 1, \"clusterType\": \"one\"}"}).Draw(t, "content")
}

// snapshot loads the control plane.
func (w *world) snapshot() *fleet.Snapshot {
	return fleet.Assemble(fleettest.Inputs(w.environment, w.files))
}

// holdings are the compared parts of a bundle.
type holdings struct {
	Tracking    bundle.File
	Folders     []string
	Assignments []holding
	Removed     []holding
	Files       []bundle.File
	Problems    []fleet.Problem
}

// holding is the compared part of an assignment.
type holding struct {
	Name, Workload, Workspace, Registration string

	Policies []string
	Sources  []fleet.Ref
	Keys     []config.Key
	Layers   []string
	Held     *fleet.Problem
	Files    []bundle.File
}

func holdingsOf(b *bundle.Bundle) holdings {
	h := holdings{Tracking: b.Tracking, Problems: b.Problems}
	for _, f := range b.Folders {
		h.Folders = append(h.Folders, f.Name)
		for i := range f.Assignments {
			h.Assignments = append(h.Assignments, holdingOf(&f.Assignments[i]))
		}
	}
	for i := range b.Removed {
		h.Removed = append(h.Removed, holdingOf(&b.Removed[i]))
	}
	h.Files = slices.Collect(b.Files)
	return h
}

func holdingOf(a *bundle.Assignment) holding {
	h := holding{
		Name: a.Name(), Workload: a.Workload, Workspace: a.Workspace, Registration: a.Registration,
		Policies: a.Policies, Held: a.Held, Files: a.Files,
	}
	if a.Sources != nil {
		h.Sources = a.Sources.Refs()
	}
	if a.Config != nil {
		h.Keys, h.Layers = a.Config.Keys(), a.Config.Layers.Names()
	}
	return h
}

func contents(b *bundle.Bundle) map[string]string {
	files := map[string]string{}
	for f := range b.Files {
		files[f.Path] = string(f.Content())
	}
	return files
}

// clone returns an independent copy.
func (w *world) clone() *world {
	return &world{environment: w.environment, files: maps.Clone(w.files), branch: maps.Clone(w.branch)}
}
