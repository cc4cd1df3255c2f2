package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// contents returns what the parser reads.
func contents(text string) (all []map[string]any, broken bool) {
	manifests, findings := parse("", []byte(text))
	for _, m := range manifests {
		all = append(all, m.content)
	}
	return all, len(findings) > 0
}

// compareWithParser reads texts of one structure, and compares each with what the parser reads. It returns how many were read without it.
func compareWithParser(t interface{ Fatalf(string, ...any) }, texts ...string) (read int) {
	var s structures
	for _, text := range texts {
		s.clean([]byte(text), func(manifests []*manifest) bool {
			read++
			want, broken := contents(text)
			var got []map[string]any
			for _, m := range manifests {
				got = append(got, m.content)
			}
			if diff := gocmp.Diff(want, got); diff != "" || broken {
				t.Fatalf("%q, broken %v (-parser +structure):\n%s", text, broken, diff)
			}
			return true
		})
	}
	return read
}

// TestStructuresReadWhatTheParserReads makes texts of lines that YAML reads differently depending on what is around them.
func TestStructuresReadWhatTheParserReads(t *testing.T) {
	lines := []string{
		"apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: WORD", "  namespace: \"WORD\"", "data:", "  a: WORD", "  b: \"WORD WORD\"", "- WORD", "  - WORD",
		"- a: WORD", "  - - WORD", "c: |", "d: >-", "  WORD", "    e: WORD", "# f: WORD", "g: {h: WORD", "}", "i: [WORD,", "  j: WORD", "]", "k: &x WORD", "l: *x",
		"m: &y", "n: *y", "  <<: *y", "---", "...", "o: 'WORD", "'", "p: \"WORD", "\"", "? WORD", ": WORD", "q: !!int WORD", "r: WORD # s", "t: WORD:", "\tu: WORD", "v:  WORD",
		"kind: List", "items:", "- apiVersion: v1", "  kind: WORD", "- - WORD: WORD", "w:", "WORD: x", "x: WORD: WORD", "y: - WORD", "", "a: WORD",
	}
	words := []string{"a", "web", "true", "No", "null", "x-1", "a.b/c", "http://x:80", "a:", "1", "0x1f", "y", "a@b", "2001-01-01", "w0", "NaN", "e1", "inf"}
	words = append(words, "b", "c", "d", "e", "f", "g", "h", "i", "j", "k") // most are words
	if read := compareWithParser(t, "apiVersion: v1\nkind: X\na: b\n", "apiVersion: v1\nkind: X\na: c\n", "apiVersion: v1\nkind: X\na: d/e\n"); read != 2 {
		t.Errorf("%d of two texts of a known structure were read without the parser", read)
	}
	rapid.Check(t, func(t *rapid.T) {
		outline := []string{"apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: WORD", "data:", "  a: WORD", "  b: \"WORD\""}
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			at := rapid.IntRange(0, len(outline)).Draw(t, "at")
			outline = slices.Insert(outline, at, rapid.SampledFrom(lines).Draw(t, "line"))
		}
		var texts []string
		for i := range 4 {
			text := strings.Join(outline, "\n") + "\n"
			for strings.Contains(text, "WORD") {
				text = strings.Replace(text, "WORD", rapid.SampledFrom(words).Draw(t, fmt.Sprint("word", i)), 1)
			}
			texts = append(texts, text)
		}
		compareWithParser(t, texts...)
	})
}

// FuzzStructure replaces the words of a text.
func FuzzStructure(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"dev\"\n  labels:\n    team: red\n", "blue")
	f.Add("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    b: c\n  d: e\n", "f")
	f.Add("apiVersion: v1\nkind: X\na: [b,\n  c: d\n  ]\n- e\n", "f")
	f.Fuzz(func(t *testing.T, text, word string) {
		outline, words := outlineOf([]byte(text))
		if len(words) == 0 {
			t.Skip()
		}
		other := string(outline)
		for range words {
			other = strings.Replace(other, string(rune(wordByte)), word, 1)
		}
		compareWithParser(t, text, text, other, text)
	})
}

// TestFindingsOfAStructure checks files of one structure: what is wrong with one of them is found, with the others nothing is.
func TestFindingsOfAStructure(t *testing.T) {
	const text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\nspec:\n  type: %s\n  ports:\n  - port: 80\n    name: http\n"
	rule := Rule{Name: "no-node-ports", Expression: "object.spec.type != 'NodePort'"}
	checker, err := New(Policy{Rules: []Rule{rule}})
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range []string{"ClusterIP", "LoadBalancer", "ClusterIP", "NodePort", "ClusterIP", "NodePort"} {
		name := fmt.Sprintf("web-%d", i)
		found := checker.Check(maps.All(map[string][]byte{name + ".yaml": fmt.Appendf(nil, text, name, kind)}))
		if wrong := kind == "NodePort"; wrong != (len(found) == 1) {
			t.Errorf("%s %s: %+v", name, kind, found)
		} else if wrong && (found[0].File != name+".yaml" || found[0].Line != 1 || found[0].Object != "Service "+name) {
			t.Errorf("%+v", found[0])
		}
	}
}

// TestTheObjectsOfAListAreChecked hides in texts of one structure that they are Lists: the key of their kind is not written as usual.
func TestTheObjectsOfAListAreChecked(t *testing.T) {
	checker, err := New(Policy{Levels: map[string]Level{RuleSchema: Off}})
	if err != nil {
		t.Fatal(err)
	}
	const text = "%s\nmetadata:\n  name: %s\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: web\n  spec:\n    hostPID: true\n"
	for _, head := range []string{"apiVersion: v1\nkind: List", "apiVersion: v1\n\"kind\": List", "apiVersion: v1\nkind : List", "'apiVersion': v1\n? kind\n: List"} {
		for i := range 4 {
			name := fmt.Sprintf("list-%c", 'a'+i)
			found := checker.Check(maps.All(map[string][]byte{"list.yaml": fmt.Appendf(nil, text, head, name)}))
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == RuleHostNamespaces }) {
				t.Errorf("%q, file %d: %+v", head, i, found)
			}
		}
	}
}

// TestStructuresAreBounded adds structures until no more are kept.
func TestStructuresAreBounded(t *testing.T) {
	var s structures
	for i := range maxOutlines/maxStructureSize + 10 {
		s.of(fmt.Appendf(nil, "%0*d", maxStructureSize, i))
	}
	if len(s.known) != maxOutlines/maxStructureSize {
		t.Errorf("%d structures are kept", len(s.known))
	}
}
