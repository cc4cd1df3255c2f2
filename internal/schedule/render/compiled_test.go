package render

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// execution is what an execution leaves behind.
type execution struct {
	out   []byte
	err   error
	left  float64
	key   []byte
	words []int
}

// executed returns what a program does for an assignment. Without compiled, text/template executes it.
func executed(p *program, d *Data, compiled bool) execution {
	own := *p
	if !compiled {
		own.compiled = nil
	}
	w := new(Library).Worker()
	w.begin(true)
	err := w.execute(&own, d)
	return execution{w.out, err, w.Left, w.trace.key, w.trace.words}
}

// sameBothWays compares a compiled template with text/template, and reports whether it was compiled and came to its end.
func sameBothWays(t *testing.T, text string, d *Data) (isCompiled, ended, failed bool) {
	t.Helper()
	p, err := compile(text)
	if err != nil || p.compiled == nil {
		return false, false, false
	}
	want := executed(p, d, false)
	if got := executed(p, d, true); !got.equals(want) {
		t.Fatalf("%s\ncompiled: %s\nwith text/template: %s", text, got, want)
	}
	w := new(Library).Worker()
	w.begin(true)
	w.program, w.data = p, d
	ended = w.runCompiled(p.compiled)
	if ended && want.err != nil {
		t.Fatalf("%s\nthe compiled template ended, and text/template says: %v", text, want.err)
	}
	return true, ended, want.err != nil
}

func (e execution) equals(other execution) bool {
	return bytes.Equal(e.out, other.out) && fmt.Sprint(e.err) == fmt.Sprint(other.err) && e.left == other.left &&
		bytes.Equal(e.key, other.key) && slices.Equal(e.words, other.words)
}

func (e execution) String() string {
	return fmt.Sprintf("%q, error %v, %v left, trace %q, words %v", e.out, e.err, e.left, e.key, e.words)
}

// TestBuiltinTemplatesAreCompiled: none of them needs the template engine, and each writes what that would write.
func TestBuiltinTemplatesAreCompiled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, source := range builtinSources() {
		for i, m := range source.Manifests {
			for range 200 {
				d := randomData(r)
				isCompiled, ended, failed := sameBothWays(t, m.Text, &d)
				if !isCompiled {
					t.Fatalf("manifest %d of %s is not compiled", i, name)
				}
				if !ended && !failed {
					t.Fatalf("manifest %d of %s needs text/template for %+v", i, name, d)
				}
			}
		}
	}
}

// TestGeneratedTemplatesAreCompiled: most of the templates that [FuzzGeneratedTemplate] generates are compiled, and most of those that do not fail
// come to an end without text/template.
func TestGeneratedTemplatesAreCompiled(t *testing.T) {
	compiled, ended, left := 0, 0, 0
	for seed := range uint64(1000) {
		isCompiled, isEnded, failed := generated(t, seed)
		switch {
		case isEnded:
			ended++
		case isCompiled && !failed:
			left++
		}
		if isCompiled {
			compiled++
		}
	}
	if compiled < 900 || ended < 200 || left > ended/10 {
		t.Errorf("of 1000 templates %d are compiled, %d come to an end, and text/template ends %d", compiled, ended, left)
	}
}

// FuzzGeneratedTemplate: compiled templates write, trace and charge what text/template does, or leave it to that.
func FuzzGeneratedTemplate(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { generated(t, seed) })
}

// FuzzCompiledText is the same for any text.
func FuzzCompiledText(f *testing.F) {
	for _, source := range builtinSources() {
		for _, m := range source.Manifests {
			f.Add(m.Text, uint64(1))
		}
	}
	for _, text := range []string{
		`{{ range $k, $v := .Labels }}{{ $k }}={{ $v }}{{ else }}{{ $k }}{{ end }}`,
		`{{ range .ConfigData.list }}{{ . }}{{ .x }}{{ end }}`,
		`{{ range $i, $e := list 1 "a" nil true }}{{ if eq $i 2 }}{{ break }}{{ end }}{{ $e }}{{ end }}`,
		`{{ with $x := .ConfigData.map }}{{ .k }}{{ $x.k }}{{ $x.k.z }}{{ else }}{{ $x }}{{ end }}`,
		`{{ $x := "a" }}{{ if true }}{{ $x = "b" }}{{ $x := "c" }}{{ $x }}{{ end }}{{ $x }}`,
		`{{ and .Namespace .Wave | print }}{{ or .Wave "x" }}{{ not .Grants }}`,
		`{{ (dict "a" 1).a }}{{ len .Labels }}{{ index .ConfigData.list 0 }}{{ add 1 2 }}{{ .ConfigData.none.more }}`,
		`{{ define "a" }}x{{ end }}{{ template "a" . }}`, `{{ . }}`, `{{ $ }}`, `{{ range 3 }}x{{ end }}`, `{{ range "abc" }}x{{ end }}`,
		`{{ .ConfigData.null.x }}`, `{{ printf "%s %d" .Namespace .Wave }}`, `{{ printf "%5s" 1.5 }}`, `{{ default 1e3 .Wave }}`, `{{ 'a' }}`,
	} {
		f.Add(text, uint64(2))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		d := randomData(rand.New(rand.NewPCG(seed, 0)))
		sameBothWays(t, text, &d)
	})
}

// generated compares a template and an assignment that belong to a seed.
func generated(t *testing.T, seed uint64) (isCompiled, ended, failed bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	g := generator{Rand: r}
	text := g.list(4)
	d := randomData(r)
	return sameBothWays(t, text, &d)
}

func randomData(r *rand.Rand) Data {
	d := exampleData("t")
	word := func() string {
		return pick(r, "", "a", "main", "git", "helm", "oci", "true", "1.5", "x y", "a: b", "\"", "é\n")
	}
	some := func(keys ...string) map[string]string {
		m := map[string]string{}
		for _, key := range keys {
			if r.IntN(2) == 0 {
				m[key] = word()
			}
		}
		return m
	}
	d.Workspace, d.Wave = word(), r.IntN(3)
	d.Manifests = some("repo", "branch", "path", "storage", "tag", "secret", "chart", "version")
	d.Labels, d.ClusterTypeLabels = some("a", "b"), some("flux-sources", "argocd-destination", "argocd-impersonation")
	if r.IntN(4) == 0 {
		d.Manifests = nil
	}
	for i := range r.IntN(3) {
		d.Grants = append(d.Grants, Grant{Name: fmt.Sprint("g", i), ClusterRole: word(), Namespace: pick(r, d.Namespace, "other"), ClusterWide: r.IntN(3) == 0})
		d.DependsOn = append(d.DependsOn, Dependency{DeploymentTargetName: word(), Namespace: fmt.Sprint("n", i), Manifests: some("storage")})
	}
	d.ConfigData = pick(r, nil, map[string]any{}, map[string]any{
		"a": "b", "POD_SECURITY": word(), "list": []any{1, "x", nil, true}, "map": map[string]any{"k": word(), "null": nil}, "null": nil, "number": 1.5, "yes": true,
	})
	return d
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// generator writes templates.
type generator struct {
	*rand.Rand
	variables []string
	inLoop    bool
}

func (g *generator) list(depth int) string {
	var b strings.Builder
	mark := len(g.variables)
	for range 1 + g.IntN(3) {
		b.WriteString(g.node(depth))
	}
	g.variables = g.variables[:mark]
	return b.String()
}

func (g *generator) node(depth int) string {
	kind := g.IntN(9)
	if depth == 0 {
		kind = g.IntN(3)
	}
	switch kind {
	case 0:
		return pick(g.Rand, "a: b\n", "name: ", "\n- ", " \"x\" ", "kind: ")
	case 1, 2:
		return "{{ " + g.pipeline(2) + " }}"
	case 3:
		value := g.pipeline(2)
		name := fmt.Sprintf("$v%d", len(g.variables))
		g.variables = append(g.variables, name)
		return "{{ " + name + " := " + value + " }}"
	case 4:
		if len(g.variables) == 0 {
			return ""
		}
		return "{{ " + pick(g.Rand, g.variables...) + " = " + g.pipeline(1) + " }}"
	case 5, 6:
		return "{{ if " + g.pipeline(2) + " }}" + g.list(depth-1) + "{{ else }}" + g.list(depth-1) + "{{ end }}"
	case 7:
		return "{{ with " + g.pipeline(1) + " }}" + g.list(depth-1) + "{{ else }}" + g.list(depth-1) + "{{ end }}"
	default:
		return g.loop(depth)
	}
}

func (g *generator) loop(depth int) string {
	over := pick(g.Rand, "$.Grants", "$.DependsOn", "$.Labels", "$.ConfigData.list", "$.ConfigData.map", `list "a" 1 true`, `splitList "," "b,c"`, "$.ConfigData")
	declared := pick(g.Rand, "", "$k, $e := ", "$e := ")
	mark, before := len(g.variables), g.inLoop
	if declared != "" {
		g.variables = append(g.variables, "$e")
	}
	g.inLoop = true
	body := g.list(depth-1) + pick(g.Rand, "", "", "", "{{ if .ClusterWide }}{{ break }}{{ end }}", "{{ continue }}x")
	g.variables, g.inLoop = g.variables[:mark], before
	return "{{ range " + declared + over + " }}" + body + "{{ else }}" + g.list(depth-1) + "{{ end }}"
}

func (g *generator) pipeline(depth int) string {
	text := g.value(depth)
	if g.IntN(3) == 0 {
		text += " | " + pick(g.Rand, "quote", `default "d"`, "toString", "lower", "upper | quote", "trim", `printf "%s-%s" "p"`, "not", "toYaml", "indent 2", `eq "a"`, "len", "hash")
	}
	return text
}

func (g *generator) value(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.operand()
	}
	a, b := g.argument(depth-1), g.argument(depth-1)
	return pick(g.Rand,
		"default \"x\" "+a, "quote (default \"y\" "+a+")", "eq "+a+" "+b, "ne "+a+" "+b, "not "+a, "quote "+a, "default "+a+" "+b, "eq "+a+" "+b, "ne "+a+" "+b, "lt "+a+" "+b, "not "+a, "and "+a+" "+b, "or "+a+" "+b,
		"index $.Manifests "+a, "index $.ConfigData "+a, "hasPrefix "+a+" "+b, "contains "+a+" "+b, "coalesce "+a+" "+b, `printf "%s of %s" `+a+" "+b,
		"first (list "+a+" "+b+")", "last (splitList "+a+" "+b+")", "toString "+a, "ternary "+a+" "+b+" true", "trunc 3 "+a, "empty "+a, "hasKey $.Labels "+a,
		"add 1 "+a, "toYaml "+a, "replace "+a+" "+b+" \"abc\"", "regexMatch "+a+" "+b, "shorten 20 "+a, "dict "+a+" "+b, "join "+a+" (list "+b+")")
}

func (g *generator) argument(depth int) string {
	if depth > 0 && g.IntN(3) == 0 {
		return "(" + g.pipeline(depth) + ")"
	}
	return g.operand()
}

func (g *generator) operand() string {
	values := []string{
		`"a"`, `"git"`, `""`, "true", "1", "0", "$.Namespace", "$.Workspace", "$.Wave", "$.Manifests.tag", "$.Manifests.storage", "$.Labels.a",
		"$.ConfigData.a", "$.ConfigData.map.k", "$.ConfigData.null", "$.ConfigData.absent", "$.ConfigData.number", "$.ConfigData.yes", "$.Grants", "$.Repo", "$.ConfigData.list",
	}
	if g.inLoop {
		values = append(values, ".Namespace", ".ClusterWide", ".", ".Manifests.storage")
	}
	return pick(g.Rand, append(values, g.variables...)...)
}
