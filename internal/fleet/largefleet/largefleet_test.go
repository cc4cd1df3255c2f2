package largefleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// fleetObjects are the objects of a generated fleet, decoded strictly.
type fleetObjects struct {
	ClusterTypes  []v1alpha1.ClusterType
	Policies      []v1alpha1.SchedulingPolicy
	Registrations []v1alpha1.WorkloadRegistration
	Configs       []corev1.ConfigMap
	Targets       []target
}

type target struct {
	Name, Workload, Workspace string
	Labels                    labels.Set
}

var specs = map[string]Spec{
	"the default":         {},
	"one of everything":   {Targets: 1, ClusterTypes: 1, Policies: 1, Layers: 5, TargetsPerWorkload: 1},
	"many layers":         {Targets: 7, ClusterTypes: 30, Layers: 90},
	"an uneven workload":  {Targets: 31, ClusterTypes: 3, TargetsPerWorkload: 4, Policies: 3, Environment: "stage"},
	"rules":               {Targets: 12, ClusterTypes: 9, Rules: true},
	"many small policies": {Targets: 20, ClusterTypes: 9, TargetsPerWorkload: 1, Policies: 20},
}

func TestSizes(t *testing.T) {
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			got, want := decode(t, Generate(spec)), spec.withDefaults()
			check := func(what string, got, want int) {
				if got != want {
					t.Errorf("%d %s, want %d", got, what, want)
				}
			}
			check("targets", len(got.Targets), want.Targets)
			check("cluster types", len(got.ClusterTypes), want.ClusterTypes)
			check("policies", len(got.Policies), want.Policies)
			check("registrations", len(got.Registrations), want.workloads())
		})
	}
}

func TestEveryPairIsSelectedByExactlyOnePolicy(t *testing.T) {
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			fleet := decode(t, Generate(spec))
			for _, target := range fleet.Targets {
				for _, ct := range fleet.ClusterTypes {
					if n := selecting(t, fleet.Policies, target, ct); n != 1 {
						t.Errorf("%d policies select %s and %s", n, target.Name, ct.Name)
					}
				}
			}
		})
	}
}

func TestEveryAssignmentHasTheLayersAndKeys(t *testing.T) {
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			fleet, want := decode(t, Generate(spec)), spec.withDefaults()
			for _, target := range fleet.Targets {
				for _, ct := range fleet.ClusterTypes {
					layers := applying(fleet.Configs, target, ct)
					if len(layers) != want.Layers {
						t.Fatalf("%d layers apply to %s on %s, want %d", len(layers), target.Name, ct.Name, want.Layers)
					}
					if keys := keysOf(t, layers); keys != want.Keys {
						t.Fatalf("%s on %s has %d keys, want %d", target.Name, ct.Name, keys, want.Keys)
					}
				}
			}
		})
	}
}

func TestEqualSpecsGiveEqualFiles(t *testing.T) {
	if diff := cmp.Diff(Generate(Spec{Seed: 3}), Generate(Spec{Seed: 3})); diff != "" {
		t.Errorf("two runs differ (-first +second):\n%s", diff)
	}
	a, b := Generate(Spec{Seed: 3}), Generate(Spec{Seed: 4})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(a.Env)), slices.Sorted(maps.Keys(b.Env))); diff != "" {
		t.Errorf("the seed changes the list of files:\n%s", diff)
	}
	if cmp.Equal(a.Env, b.Env) {
		t.Error("the seed changes nothing")
	}
}

func TestChangeValueChangesOneLine(t *testing.T) {
	before := Generate(Spec{Targets: 30})
	after := before.ChangeValue()
	var changed []string
	for path, content := range before.Env {
		lines, changedLines := strings.Split(content, "\n"), strings.Split(after.Env[path], "\n")
		for i := range lines {
			if lines[i] != changedLines[i] {
				changed = append(changed, path)
			}
		}
	}
	if diff := cmp.Diff(changed, []string{"cluster-types/east-us/east-us-small-000/config.yaml"}); diff != "" {
		t.Errorf("changed lines by file (-got +want):\n%s", diff)
	}
	decode(t, after)
}

func TestSourcesCarryGitBlobIDs(t *testing.T) {
	f := Generate(Spec{Targets: 1, ClusterTypes: 1})
	f.Env = map[string]string{"hello.txt": "hello\n"}
	_, env, workloads := f.Sources()
	// The expected ID is the output of "echo hello | git hash-object --stdin".
	if got, want := env.Files[0].ID, "ce013625030ba8dba906f756967f9e9ca394464a"; got != want {
		t.Errorf("blob id %s, want %s", got, want)
	}
	content, err := workloads["app-000"].Files[0].Read()
	if err != nil || string(content) != f.Workloads["app-000"]["workload.yaml"] {
		t.Errorf("read %q, %v", content, err)
	}
}

func selecting(t *testing.T, policies []v1alpha1.SchedulingPolicy, target target, ct v1alpha1.ClusterType) int {
	count := 0
	for _, p := range policies {
		wanted := p.Spec.DeploymentTargetSelector
		if wanted.Workspace == target.Workspace &&
			matches(t, wanted.LabelSelector, target.Labels) &&
			matches(t, p.Spec.ClusterTypeSelector.LabelSelector, ct.Labels) {
			count++
		}
	}
	return count
}

func matches(t *testing.T, s *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(set)
}

func applying(configs []corev1.ConfigMap, target target, ct v1alpha1.ClusterType) []corev1.ConfigMap {
	have := labels.Merge(target.Labels, ct.Labels)
	have["cluster-type"], have["workload"], have["platform-config"] = ct.Name, target.Workload, "true"
	var layers []corev1.ConfigMap
	for _, c := range configs {
		if labels.SelectorFromSet(c.Labels).Matches(have) {
			layers = append(layers, c)
		}
	}
	return layers
}

// keysOf counts the keys, and checks that no two layers with the same specificity set the same one.
func keysOf(t *testing.T, layers []corev1.ConfigMap) int {
	t.Helper()
	keys, written := map[string]bool{}, map[string]string{}
	for _, layer := range layers {
		for key := range layer.Data {
			keys[key] = true
			rank := fmt.Sprint(key, len(layer.Labels))
			if other, ok := written[rank]; ok {
				t.Fatalf("%s and %s both write %s", other, layer.Name, key)
			}
			written[rank] = layer.Name
		}
	}
	return len(keys)
}

func decode(t *testing.T, f Files) fleetObjects {
	t.Helper()
	var out fleetObjects
	decodeFiles(t, f.Main, &out)
	decodeFiles(t, f.Env, &out)
	for _, r := range out.Registrations {
		var w v1alpha1.Workload
		unmarshal(t, f.Workloads[r.Name]["workload.yaml"], &w)
		for _, dt := range w.Spec.DeploymentTargets {
			if dt.Environment != f.Environment {
				t.Errorf("target %s is in environment %q", dt.Name, dt.Environment)
			}
			out.Targets = append(out.Targets, target{
				Name: w.Name + "-" + dt.Name, Workload: w.Name, Workspace: r.Spec.Workspace,
				Labels: labels.Merge(w.Labels, dt.Labels),
			})
		}
	}
	return out
}

func decodeFiles(t *testing.T, files map[string]string, out *fleetObjects) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for _, document := range strings.Split(files[path], "---\n") {
			var meta metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
				t.Fatalf("%s: %v\n%s", path, err, document)
			}
			decodeDocument(t, meta.Kind, document, out)
		}
	}
}

func decodeDocument(t *testing.T, kind, document string, out *fleetObjects) {
	t.Helper()
	switch kind {
	case "ClusterType":
		out.ClusterTypes = append(out.ClusterTypes, unmarshal(t, document, &v1alpha1.ClusterType{}))
	case "SchedulingPolicy":
		out.Policies = append(out.Policies, unmarshal(t, document, &v1alpha1.SchedulingPolicy{}))
	case "WorkloadRegistration":
		out.Registrations = append(out.Registrations, unmarshal(t, document, &v1alpha1.WorkloadRegistration{}))
	case "ConfigMap":
		out.Configs = append(out.Configs, unmarshal(t, document, &corev1.ConfigMap{}))
	case "Template":
		unmarshal(t, document, &v1alpha1.Template{})
	case "Environment":
		unmarshal(t, document, &v1alpha1.Environment{})
	case "BaseRepo":
		unmarshal(t, document, &v1alpha1.BaseRepo{})
	case "GitOpsRepo":
		unmarshal(t, document, &v1alpha1.GitOpsRepo{})
	default:
		t.Errorf("unexpected kind %q in\n%s", kind, document)
	}
}

func unmarshal[T any](t *testing.T, document string, into *T) T {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		t.Fatalf("decode: %v\n%s", err, document)
	}
	return *into
}
