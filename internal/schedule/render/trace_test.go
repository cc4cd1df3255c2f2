package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// textTemplate returns a template of type config.
func textTemplate(name string, manifests ...string) *fleet.Template {
	t := &fleet.Template{Name: name, Type: v1alpha1.ConfigTemplate, ContentType: v1alpha1.ContentYAML}
	for _, text := range manifests {
		t.Manifests = append(t.Manifests, fleet.TemplateManifest{Text: text, Position: fleet.Position{File: "t.yaml", Line: 1}})
	}
	return t
}

// library returns a library of one template, and the template; nil when it does not parse.
func libraryOf(source *fleet.Template) (*Library, *Template) {
	l, _ := NewLibrary(&fleet.Snapshot{Templates: []*fleet.Template{source}}, nil)
	t, _ := l.Find(source.Type, source.Name)
	return l, t
}

func TestPlainWords(t *testing.T) {
	tests := []struct {
		before, value string
		plain         bool
	}{
		{"name: ", "hello-world", true},
		{"name: ", "hello", false}, // "true" would be plain as well, and is no text
		{"name: ", "2001-12-14", false},
		{"name: ", `"hello"`, true},
		{"name: x ", `"hello"`, false},
		{"path: ", "./base", true},
		{"path: ", "true", true},
		{"a: b\npath: ", "true", true},
		{"  - path: ", "x", true},
		{"path: a/", "b", true},
		{"url: ", "https://example.com/x", true},
		{"url: ", "git@example.com:org/x", true},
		{"path: ", "", false},
		{"path: ", "-", false},
		{"path: ", "a:", false},
		{"path: ", "a: b", false},
		{"path: ", "a #b", false},
		{"path: ", "a\nb", false},
		{"path: ", `"a\nb"`, false},
		{"path: ", strings.Repeat("x", 300), false},
		{"", "x", false},
		{"  ", "x", false},
		{"- ", "x", false},
		{"path:", "x", false},
		{"path: {", "x", false},
		{"path: &", "x", false},
		{`path: "\`, "x", false},
		{`"path": `, "x", false},
		{"? path: ", "x", false},
		{"--- a: ", "x", false},
		{"apiVersion: ", "a-b", false},
		{"kind: ", `"a-b"`, false},
		{strings.Repeat("x", 300) + ": ", "x", false},
	}
	for _, tt := range tests {
		if got := isPlainAt([]byte(tt.before), []byte(tt.value)); got != tt.plain {
			t.Errorf("isPlainAt(%.40q, %.40q) = %v, want %v", tt.before, tt.value, got, tt.plain)
		}
	}
}

// TestVerdictIsShared makes sure that the usual values do not make the output be parsed again.
func TestVerdictIsShared(t *testing.T) {
	l, _ := NewLibrary(&fleet.Snapshot{}, nil)
	w := l.Worker()
	for _, u := range usual {
		template, _ := l.Find(u.kind, u.name)
		list := assignments(50)
		before := make([]int, len(template.manifests))
		for i, m := range template.manifests {
			before[i] = m.verdicts.judged // by other tests
		}
		for i := range list {
			if _, _, err := w.Render(template, &list[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i, m := range template.manifests {
			if n := m.verdicts.judged - before[i]; n > 1 {
				t.Errorf("%s: manifest %d was parsed %d times for 50 assignments, want once", u.name, i, n)
			}
		}
	}
}

// Pieces of templates and values in which the structure of the output depends on what is printed.
var (
	lines = []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: X", "apiVersion: X\nkind: X\nmetadata: {name: X}",
		"metadata:\n  name: XX", "metadata:\n  name: 1X", "metadata:\n  name: 'X'", "metadata:\n  name:\n    X",
		"apiVersion: source.toolkit.fluxcd.io/X", "data:\n  X: 1\n  X: 2", "data:\n  a: X", "data: {a: X, X: 1}", "data: {a: 1,\n  b: X,\n X: 2}",
		"data: X", "X", "- X", "- a: X", "a: \"X", "b: \"X\"", "a: 'X\n  b: X'", "a: |\n  X\n  b: X", "a: >-\n X", "a: X: X", "a: X X",
		"a: &X b\nc: *X", "a: !X b", "? X\n: X", "a: X # X", "# X", "a: [X, X]", "a: \"\\X\"", "---", "--- X", "...", "  a: X", "\ta: X", "a: -X", "a: \"b\" X",
		"{{ if .Manifests.flag }}\na: X\n{{ else }}\nb: X\n{{ end }}", "{{ range .Labels }}\nk: {{ . }}{{ break }}\n{{ end }}",
		"{{ with .Manifests.flag }}x{{ . }}: 1{{ end }}",
		"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: x-y}\nspec:\n  url: X",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x-y}\nspec:\n  interval: X\n  releaseName: X\n  storageNamespace: 'X'",
		"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x-X\n  labels:\n    a: X # X\n    b: 'X'\n    c: XX",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x-y\n  namespace: X\ndata:\n  X: X\n  b: |\n    a: X\n  c: x\n    X",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: |\n    a: X\n  labels: {a: X}\n  annotations:\n    X: \"X\"",
	}
	actions = []string{"{{ toYaml .Manifests | indent 2 }}", "{{ toYaml .ConfigData | nindent 2 }}", "{{ .Manifests.a }}", "{{ .Manifests.b }}", "{{ quote .Manifests.a }}", "{{ print .Manifests.b }}", "word", `{{ default "d" .Manifests.a }}`}
	words   = []string{
		"a", "b", "ab", "a-b", "x-y", "null", "true", "rue", "1", "e5", "0x1", "1.5", ".", "..", "...", "-", "--", "---", "-a", "_", "/", "~", "=", "2001-12-14",
		"", " ", "a b", "a:", "a:b", "a: b", ":", "#", "a#", "a #b", "\"", "'", "[", "{", "}", ",", "&a", "*a", "!a", "%", "@", "`", "|", ">", "\\", "\n", "a\nb: c",
		"https://x/y", "git@x:y", "v1", "v1beta2", "v1beta1", "source.toolkit.fluxcd.io/v1beta2", "name", "n", "nbsp\u00a0", "é", "A", "\"q\"", "next\u2028line", "ftp://x", strings.Repeat("x", 64),
		"1m30s", strings.Repeat("x", 26) + "-" + strings.Repeat("y", 27),
	}
)

// TestLimitsHoldForSharedVerdicts: a name may be a DNS label and too long, and nothing is no name.
func TestLimitsHoldForSharedVerdicts(t *testing.T) {
	for _, behind := range []string{"", " # {{ .Workload }}"} {
		l, parsed := libraryOf(textTemplate("t",
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: x-y\nspec:\n  releaseName: {{ .Manifests.a }}"+behind+"\n"))
		w := l.Worker()
		long := strings.Repeat("x", 26) + "-" + strings.Repeat("y", 26)
		for _, tc := range [][2]string{
			{"a-b", ""}, {"c-d", ""}, {long, ""}, {long + "z", "no more than 53"}, {`""`, "it is empty"}, {"null", ""}, {"12", "it is not a string"},
		} {
			d := exampleData("t")
			d.Manifests = map[string]string{"a": tc[0]}
			_, _, err := w.Render(parsed, &d)
			if got := fmt.Sprint(err); (err != nil) != (tc[1] != "") || !strings.Contains(got, tc[1]) {
				t.Errorf("%s%s: got %v, want %q", tc[0], behind, err, tc[1])
			}
		}
	}
}

// TestVerdictEqualsFullParse is the property that trace claims:
// what is said about an output never depends on what was rendered before.
func TestVerdictEqualsFullParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for _, line := range rapid.SliceOfN(rapid.SampledFrom(lines), 1, 4).Draw(t, "lines") {
			for i, part := range strings.Split(line, "X") {
				if i > 0 {
					text.WriteString(rapid.SampledFrom(actions).Draw(t, "action"))
				}
				text.WriteString(part)
			}
			text.WriteString("\n")
		}
		source := textTemplate("t", text.String())
		shared, parsed := libraryOf(source)
		if parsed == nil {
			return
		}
		w := shared.Worker()
		for range 12 {
			d := exampleData("t")
			d.Manifests = map[string]string{"a": word(t), "b": word(t)}
			d.ConfigData = map[string]any{word(t): word(t), "k": map[string]any{"name": word(t), "list": []any{word(t), 1, true}}}
			if rapid.Bool().Draw(t, "flag") {
				d.Manifests["flag"] = word(t)
			}
			got := said(w.Render(parsed, &d))
			fresh, again := libraryOf(source)
			want := said(fresh.Worker().Render(again, &d))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q with %q differs from a full parse:\n%s", text.String(), d.Manifests, diff)
			}
		}
	})
}

func word(t *rapid.T) string { return rapid.SampledFrom(words).Draw(t, "word") }

func said(out []byte, problems []fleet.Problem, err error) string {
	return fmt.Sprintf("%s\n%v\n%v", out, problems, err)
}
