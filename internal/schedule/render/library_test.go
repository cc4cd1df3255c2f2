package render

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestFind(t *testing.T) {
	good := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	reconciler := textTemplate("argocd", good)
	reconciler.Type = v1alpha1.ReconcilerTemplate
	l, _ := NewLibrary(&fleet.Snapshot{
		Templates: []*fleet.Template{
			textTemplate("configmap", good), textTemplate("flux", good), textTemplate("odd", good), textTemplate("env", "{{ broken"), reconciler,
		},
		Unreadable: []fleet.Unreadable{{Ref: fleet.Ref{Kind: "Template", Name: "default"}, Position: fleet.Position{File: "default.yaml", Line: 3}}},
	}, nil)
	tests := []struct {
		rule          string
		kind          v1alpha1.TemplateType
		name          string
		found         bool
		builtin       bool
		severity      fleet.Severity
		messageOrHint string
	}{
		{"the environment's own comes first", v1alpha1.ConfigTemplate, "configmap", true, false, "", ""},
		{"of another type", v1alpha1.ReconcilerTemplate, "argocd", true, false, "", ""},
		{"a built-in stands in", v1alpha1.ReconcilerTemplate, "fleet", true, true, fleet.SeverityNotice, "built-in"},
		{"under an alias", v1alpha1.ReconcilerTemplate, "arc-flux", true, true, fleet.SeverityNotice, "built-in"},
		{"under another alias", v1alpha1.ConfigTemplate, "configMap", true, true, fleet.SeverityNotice, "built-in"},
		{"own one of another type does not count", v1alpha1.ReconcilerTemplate, "flux", true, true, fleet.SeverityNotice, "has the type config"},
		{"a built-in of another type does not count", v1alpha1.NamespaceTemplate, "argocd", false, false, fleet.SeverityError, "has the type reconciler"},
		{"no template of that name", v1alpha1.ReconcilerTemplate, "fluxx", false, false, fleet.SeverityError, `did you mean "flux"?`},
		{"no name", v1alpha1.ReconcilerTemplate, "", false, false, fleet.SeverityError, "the cluster type names no template of type reconciler"},
		{"a broken one is not replaced", v1alpha1.ConfigTemplate, "env", false, false, fleet.SeverityError, "defined"},
		{"nor is an unreadable one", v1alpha1.NamespaceTemplate, "default", false, false, fleet.SeverityError, "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			found, problem := l.Find(tt.kind, tt.name)
			if (found != nil) != tt.found {
				t.Fatalf("found is %v, want %v", found != nil, tt.found)
			}
			if found != nil && found.source.Builtin != tt.builtin {
				t.Errorf("built-in is %v, want %v", found.source.Builtin, tt.builtin)
			}
			if problem == nil {
				problem = &fleet.Problem{}
			}
			if problem.Severity != tt.severity || !strings.Contains(problem.Message+" "+problem.Hint, tt.messageOrHint) {
				t.Errorf("problem is %+v, want %s with %q", problem, tt.severity, tt.messageOrHint)
			}
		})
	}
}

// TestParsedOnce makes sure that a round of a server parses what changed since the one before and nothing else.
func TestParsedOnce(t *testing.T) {
	same, changed, broken := textTemplate("same", "a: b"), textTemplate("changed", "a: b"), textTemplate("broken", "{{ broken")
	same.Digest[0], changed.Digest[0], broken.Digest[0] = 1, 2, 3
	first, _ := NewLibrary(&fleet.Snapshot{Templates: []*fleet.Template{same, changed, broken}}, nil)
	now := textTemplate("changed", "a: c")
	now.Digest[0] = 4
	second, problems := NewLibrary(&fleet.Snapshot{Templates: []*fleet.Template{same, now, broken}}, first)

	for _, tt := range []struct {
		name string
		kept bool
	}{{"same", true}, {"changed", false}, {"env", true}} {
		before, _ := first.Find(v1alpha1.ConfigTemplate, tt.name)
		after, _ := second.Find(v1alpha1.ConfigTemplate, tt.name)
		if kept := before == after; kept != tt.kept {
			t.Errorf("template %q is the one of before: %v, want %v", tt.name, kept, tt.kept)
		}
	}
	if len(problems) != 1 || problems[0].Object.Name != "broken" {
		t.Errorf("problems are %v, want that of the broken template again", problems)
	}
}

func TestTemplate(t *testing.T) {
	source := textTemplate("env", "x")
	source.ContentType = v1alpha1.ContentShell
	source.Digest[0] = 7
	_, parsed := libraryOf(source)
	if parsed.Name() != "env" || parsed.ContentType() != v1alpha1.ContentShell || parsed.Digest() != source.Digest {
		t.Errorf("got %s, %s and %x", parsed.Name(), parsed.ContentType(), parsed.Digest())
	}
}

func TestNamespace(t *testing.T) {
	if got := Namespace("dev", "drone", "app-test"); got != "dev-drone-app-test" {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("x", 60)
	a, b := Namespace("dev", "drone", long+"a"), Namespace("dev", "drone", long+"b")
	if len(a) != 63 || len(b) != 63 || a == b {
		t.Errorf("got %q and %q, want two different names of 63 characters", a, b)
	}
}

// TestWorkersAgree renders the same on several goroutines, which share a library and the data's maps.
func TestWorkersAgree(t *testing.T) {
	l, _ := NewLibrary(&fleet.Snapshot{Templates: []*fleet.Template{
		textTemplate("changes", "{{ $_ := set .ConfigData \"SETTING_0\" 1 }}{{ toYaml .ConfigData }}\n"),
		textTemplate("reads", "{{ toYaml .ConfigData }}\n{{ hash .ConfigData }}: {{ sortAlpha (keys .ConfigData) }}\n"),
	}}, nil)
	list := assignments(40)
	results := make([]string, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = renderAll(l, list) })
	}
	wg.Wait()
	for _, r := range results[1:] {
		if diff := cmp.Diff(results[0], r); diff != "" {
			t.Fatal(diff)
		}
	}
}

func renderAll(l *Library, list []Data) string {
	var b strings.Builder
	w := l.Worker()
	for i := range list {
		for _, name := range []string{"changes", "reads", "configmap", "env"} {
			t, _ := l.Find(v1alpha1.ConfigTemplate, name)
			b.WriteString(said(w.Render(t, &list[i])))
		}
	}
	return b.String()
}

// TestMemoFollowsTheMap makes sure that a configuration that was made for one assignment is not used for another.
func TestMemoFollowsTheMap(t *testing.T) {
	l, parsed := libraryOf(textTemplate("t", "a: {{ quote (toYaml .ConfigData) }}\nb: {{ quote (toYaml (stringify .ConfigData)) }}\n"))
	w := l.Worker()
	for _, value := range []string{"one", "two", "one"} {
		d := exampleData("t")
		d.ConfigData = map[string]any{"k": value}
		out, _, err := w.Render(parsed, &d)
		if want := "a: \"k: " + value + "\"\nb: \"k: " + value + "\"\n"; err != nil || string(out) != want {
			t.Errorf("got %q, %v, want %q", out, err, want)
		}
	}
}

// TestWorkDoesNotDependOnHistory makes sure that what a worker remembers does not change what a template may do:
// the work left after the first execution is the work left after the second.
func TestWorkDoesNotDependOnHistory(t *testing.T) {
	_, parsed := libraryOf(textTemplate("t",
		`# {{ toYaml .ConfigData | quote }}{{ hash (stringify .ConfigData) }}{{ regexMatch "^a+$" .Namespace }}{{ toYaml .ConfigData | len }}`+"\n"))
	d := assignments(1)[0]
	w := (&Library{}).Worker()
	var left []float64
	for range 3 {
		if _, _, err := w.Render(parsed, &d); err != nil {
			t.Fatal(err)
		}
		left = append(left, w.Left)
	}
	if left[0] != left[1] || left[1] != left[2] {
		t.Errorf("work left is %v, want the same each time", left)
	}
}
