package check

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the findings of the cases")

// TestCases runs the cases in testdata. Each has a policy, manifests, and the expected findings.
//
//	-- policy.yaml --   environment, levels and rules; optional
//	-- rights.yaml --   what the platform lets the manifests change; without it, only the other rules are checked
//	-- crds/*.yaml --   definitions of custom resources
//	-- want --          the findings, with level and hint
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, archive)
			last := &archive.Files[len(archive.Files)-1]
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(last.Data), got); last.Name != "want" || diff != "" {
				t.Errorf("%s (-want +got):\n%s", last.Name, diff)
			}
		})
	}
}

func run(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	var policy Policy
	var rights *Rights
	manifests, definitions := map[string][]byte{}, map[string][]byte{}
	for _, f := range archive.Files {
		switch {
		case f.Name == "want":
		case f.Name == "policy.yaml":
			if err := yaml.UnmarshalStrict(f.Data, &policy); err != nil {
				t.Fatal(err)
			}
		case f.Name == "rights.yaml":
			rights = &Rights{}
			if err := yaml.UnmarshalStrict(f.Data, rights); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(f.Name, "crds/"):
			definitions[f.Name] = f.Data
		default:
			manifests[f.Name] = f.Data
		}
	}
	var broken []Finding
	policy.Schemas, broken = NewSchemas(definitions)
	checker, err := New(policy)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	if rights != nil {
		return show(append(broken, checker.Outside(manifests, *rights)...))
	}
	return show(append(broken, checker.Check(maps.All(manifests))...))
}

func show(findings []Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Level, f)
		if f.Hint != "" {
			fmt.Fprintf(&b, "    %s\n", f.Hint)
		}
	}
	return b.String()
}

// FuzzCheck checks that any input has a result, and the same one if repeated.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"", "a", "{", "---\n---\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: &x b, c: *x}\n",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [1, {image: a, ports: [{hostPort: 1}]}], volumes: [x]}}}\n",
		"apiVersion: v1\nkind: List\nitems: [1]\n", "? [a]\n: b\n", "a: !!timestamp 2020-01-01\n", "a: &a [*a]\n",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a, names: {kind: B}, versions: [{name: v1, schema: {openAPIV3Schema: {type: [1]}}}]}\n",
	} {
		f.Add([]byte(seed))
	}
	schemas, _ := NewSchemas(nil)
	checker, err := New(Policy{Schemas: schemas, Levels: map[string]Level{RuleSecret: Off}, Rules: []Rule{{Name: "own", Expression: "object.metadata.name != ''"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files := map[string][]byte{"a.yaml": data}
		first := checker.Check(maps.All(files))
		if diff := cmp.Diff(first, checker.Check(maps.All(files))); diff != "" {
			t.Errorf("two answers:\n%s", diff)
		}
		checker.Outside(files, Rights{Known: true, Namespaces: []string{"own"}})
		NewSchemas(files)
	})
}

// TestSecretsAreNotShown checks that a finding about a credential does not contain it.
func TestSecretsAreNotShown(t *testing.T) {
	checker, err := New(Policy{})
	if err != nil {
		t.Fatal(err)
	}
	// A made-up token in the format of a well-known forge, split so that secret scanners do not report this file.
	token := "ghp_" + "q7Zt3LmX9vBc2NkR8sWyD4fGh6JpE1uA0iTo"
	findings := checker.Check(maps.All(map[string][]byte{
		"config.yaml": fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  token: %s\n", token),
	}))
	if len(findings) != 1 || findings[0].Rule != RuleSecret || findings[0].Line != 5 || findings[0].Level != Refuse {
		t.Errorf("findings: %+v", findings)
	}
	if strings.Contains(show(findings), token) {
		t.Error("a finding shows the credential")
	}
}

// TestRulesAreDocumented checks that the reference page lists exactly the existing rules, with their levels.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]Level{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| `([a-z]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = Level(row[2])
	}
	if diff := cmp.Diff(DefaultLevels(), documented); diff != "" {
		t.Errorf("docs/reference/checks.md (-code +page):\n%s", diff)
	}
	for _, rule := range securityRules {
		for _, name := range rule.names {
			if _, ok := DefaultLevels()[name]; !ok {
				t.Errorf("%s has no level, and would find nothing", name)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	checker, err := New(Policy{})
	if err != nil {
		b.Fatal(err)
	}
	files := map[string][]byte{}
	for i := range 20 {
		files[fmt.Sprintf("%02d.yaml", i)] = fmt.Appendf(nil, deployment, i)
	}
	checker.Check(maps.All(files))
	b.ResetTimer()
	for b.Loop() {
		checker.Check(maps.All(files))
	}
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%d, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/shop/web:1.2.3
        ports: [{containerPort: 8080}]
        resources: {limits: {memory: 64Mi}, requests: {cpu: 10m, memory: 64Mi}}
`

// BenchmarkCheckNew checks a file that was not checked before.
func BenchmarkCheckNew(b *testing.B) {
	checker, err := New(Policy{})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		checker.Check(maps.All(map[string][]byte{"web.yaml": fmt.Appendf(nil, deployment, i)}))
	}
}

// TestEveryKindHasASchema checks that everything that definitions refer to exists.
func TestEveryKindHasASchema(t *testing.T) {
	s, findings := NewSchemas(nil)
	if len(findings) > 0 || len(s.sources) < 100 {
		t.Fatalf("%d kinds, %v", len(s.sources), findings)
	}
	for kind := range s.sources {
		if compiled, err := s.schema(kind); err != nil || compiled == nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// BenchmarkSchemas compiles the schemas of twenty kinds.
func BenchmarkSchemas(b *testing.B) {
	for b.Loop() {
		s, findings := NewSchemas(nil)
		if len(findings) > 0 {
			b.Fatal(findings)
		}
		for _, kind := range slices.Sorted(maps.Keys(s.sources))[:20] {
			if _, err := s.schema(kind); err != nil {
				b.Fatal(err)
			}
		}
	}
}
