package deliver

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// TestWhichObjectADocumentIs checks that the same object is found in any notation.
func TestWhichObjectADocumentIs(t *testing.T) {
	for text, want := range map[string][4]string{
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: n}\nspec:\n  kind: b\n":                              {"apps", "Deployment", "n", "a"},
		"# Source: x\nspec:\n  metadata:\n    name: b\nmetadata:\n  labels:\n    kind: c\n\n  name: a\nkind: Pod\napiVersion: v1\n": {"", "Pod", "", "a"},
		"{apiVersion: v1, kind: Pod,\nmetadata: {name: a}}\n":                                                                       {"", "Pod", "", "a"},
		"{\n\"apiVersion\": \"v1\",\n\"kind\": \"Pod\",\n\"metadata\": {\"name\": \"a\"}\n}\n":                                      {"", "Pod", "", "a"},
		"\"apiVersion\": v1\n'kind': Pod\nmetadata: {name: a}\n":                                                                    {"", "Pod", "", "a"},
		"  apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n":                                                                    {"", "Pod", "", "a"},
		"apiVersion: v1\nkind : Pod\nmetadata:\tname\n":                                                                             {"", "document", "", ""},
		"apiVersion: v1\nkind: Pod\nspec: &s {name: a}\nmetadata:\n  <<: *s\n":                                                      {"", "Pod", "", "a"},
		"base: &b {kind: Pod}\n<<: *b\napiVersion: v1\nmetadata: {name: a}\n":                                                       {"", "Pod", "", "a"},
		"apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\nspec: {}\r\n":                                                     {"", "Pod", "", "a"},
		"data:\n  x: |\n    kind: b\n    metadata: c\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n":                       {"", "ConfigMap", "", "a"},
		"apiVersion: v1\nkind: RoleBinding\nsubjects:\n- kind: User\n  name: b\nmetadata:\n  name: a\n":                             {"", "RoleBinding", "", "a"},
		"apiVersion: v1\nnote: \"\nkind: Wrong\n\"\nkind: Pod\nmetadata: {name: a}\n":                                               {"", "Pod", "", "a"},
		"apiVersion: v1\nspec: {x: y,\nkind: Wrong}\nkind: Pod\nmetadata: {name: a}\n":                                              {"", "Pod", "", "a"},
		"apiVersion: v1\nnote: \"\nmetadata: wrong\n\"\nkind: List\nitems: []\n":                                                    {"", "List", "", ""},
		"apiVersion: v1\nkind: \"Pod\" # one\nmetadata:\n  annotations:\n    x: |\n      name: b\n  name: a\n":                      {"", "Pod", "", "a"},
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n--- # two\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n":           {"", "Pod", "", "a"},
		"just text\n":   {"", "document", "", ""},
		"- kind: Pod\n": {"", "document", "", ""},
		"":              {"", "document", "", ""},
	} {
		if got := parseManifest(text).key(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestIdentityIsThatOfTheWholeDocument checks that the lines that identify an
// object give the same result as the whole document.
func TestIdentityIsThatOfTheWholeDocument(t *testing.T) {
	lines := []string{
		"apiVersion: v1", "kind: Pod", "kind: Wrong", "metadata: {name: a}", "metadata:", "  name: b", "  namespace: n", "spec: {x: y,", "}", "note: \"", "\"", "note2: '",
		"'", "text: |", "  kind: c", "- kind: d", "# kind: e", "", "list:", "kind: f}", "more: &m {name: g}", "metadata: *m", "  <<: *m", "\"kind\": Job", "x: \ry: 1\rkind: Real",
	}
	type head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name, Namespace string }
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 12).Draw(t, "lines"), "\n") + "\n"
		var all, some head
		if yaml.Unmarshal([]byte(text), &all) != nil || yaml.Unmarshal([]byte(identity(text)), &some) != nil {
			return // the whole document is parsed
		}
		if object := all.APIVersion != "" && all.Kind != "" && all.Metadata.Name != ""; object && some != all {
			t.Errorf("%q is %+v, and by its identity %+v", text, all, some)
		}
	})
}

// TestObjectsOfOneNameAreAllSeen checks that two documents that claim to be
// the same object are removed and replaced separately.
func TestObjectsOfOneNameAreAllSeen(t *testing.T) {
	const one, two = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n"
	if got := changedObjects([]byte(one+"---\n"+two), nil); len(got) != 2 || got[0].Op != plan.Removed || got[1].Op != plan.Removed {
		t.Errorf("removed are %+v", got)
	}
	if got := changedObjects([]byte(one+"---\n"+two), []byte(one+"more: 1\n")); len(got) != 2 || got[0].Op != plan.Changed || got[1].Op != plan.Removed {
		t.Errorf("changed are %+v", got)
	}
}
