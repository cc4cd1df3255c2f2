package editing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

func valueOf(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n.Content[0]
}

// Setting a value changes its lines only: comments, empty lines and the format of all others stay.
func TestSetKeepsOtherLines(t *testing.T) {
	const file = `# Values of eu.

replicas:   2   # more in prod
image: {repository: shop, tag: "1.3"}   # both

database:
    host: db   # the primary

    # who connects
    users:
    - ann
    - ben
# the end
motd: |
  hello
   world
later:
  # which?
soon:   # or not
empty: {}
`
	for _, test := range []struct {
		name        string
		path        []string
		value       string
		was, is     string
		wholeFormat bool
	}{
		{name: "a number", path: []string{"replicas"}, value: "3", was: "replicas:   2   #", is: "replicas:   3   #"},
		{name: "in a flow map", path: []string{"image", "tag"}, value: `"1.4"`, was: `tag: "1.3"}`, is: `tag: "1.4"}`},
		{name: "a nested text", path: []string{"database", "host"}, value: "eu-db", was: "host: db   #", is: "host: eu-db   #"},
		{name: "a list", path: []string{"database", "users"}, value: "[ann]", was: "    users:\n    - ann\n    - ben\n", is: "    users: [ann]\n"},
		{name: "a block", path: []string{"motd"}, value: "bye", was: "motd: |\n  hello\n   world\n", is: "motd: bye\n"},
		{name: "a new key of a map", path: []string{"database", "port"}, value: "3306", was: "    - ben\n", is: "    - ben\n    port: 3306\n"},
		{name: "a new key", path: []string{"size"}, value: "large", was: "empty: {}\n", is: "empty: {}\nsize: large\n"},
		{name: "new maps", path: []string{"a", "b"}, value: "1", was: "empty: {}\n", is: "empty: {}\na:\n  b: 1\n"},
		{name: "a comment below a key without a value", path: []string{"later", "x"}, value: "1", was: "later:\n", is: "later:\n  x: 1\n"},
		{name: "a comment beside a key without a value", path: []string{"soon"}, value: "now", was: "soon:   # or not\n", is: "soon: now # or not\n"},
		{name: "a new key of a flow map", path: []string{"image", "pull"}, value: "always", was: `tag: "1.3"}`, is: `tag: "1.3", pull: always}`},
		{name: "a text with a comma in a flow map", path: []string{"image", "tag"}, value: `"1, 2"`, was: `tag: "1.3"}`, is: `tag: "1, 2"}`},
		{name: "a map in a flow map", path: []string{"image", "repository"}, value: "{a: [1]}", was: `{repository: shop,`, is: `{repository: {a: [1]},`},
		{name: "an element by index", path: []string{"database", "users", "[1]"}, value: "bea", was: "    - ben\n", is: "    - bea\n"},
		{name: "below an empty map", path: []string{"empty", "x"}, value: "true", was: "empty: {}\n", is: "empty:\n  x: true\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := editing.Set([]byte(file), 0, test.path, valueOf(t, test.value))
			if err != nil {
				t.Fatal(err)
			}
			want := replaceOnce(t, file, test.was, test.is)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func replaceOnce(t *testing.T, text, was, is string) string {
	t.Helper()
	for i := 0; i+len(was) <= len(text); i++ {
		if text[i:i+len(was)] == was {
			return text[:i] + is + text[i+len(was):]
		}
	}
	t.Fatalf("no %q in the file", was)
	return ""
}

// Added lines end as the others do.
func TestSetKeepsLineEnds(t *testing.T) {
	got, err := editing.Set([]byte("a: 1\r\nb:\r\n  c: 2\r\n"), 0, []string{"b", "d"}, valueOf(t, "[x]"))
	if want := "a: 1\r\nb:\r\n  c: 2\r\n  d: [x]\r\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// Paths and values are read as users write them.
func TestPathsAndValues(t *testing.T) {
	for text, want := range map[string][]string{
		"a": {"a"}, "a.b/c": {"a", "b/c"}, `a."b.c/d"`: {"a", "b.c/d"}, `"a.b".c`: {"a.b", "c"}, `a"b`: {`a"b`}, "'a'": {"'a'"},
		"a[x].b": {"a", "[x]", "b"}, "a[0][1]": {"a", "[0]", "[1]"}, `a["b.c"].d`: {"a", "[b.c]", "d"}, `"a[x]"`: {"a[x]"},
		"": nil, ".": nil, "a.": nil, "a..b": nil, `""`: nil, `"a"b`: nil, "a[]": nil, "a[x": nil, "a[x]b": nil,
	} {
		if got, err := editing.Path(text); cmp.Diff(want, got) != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]any{"3": 3, `"3"`: "3", "": "", "#fff": "#fff", "[a, 1]": []any{"a", 1}} {
		got, err := editing.Value(text)
		if err != nil {
			t.Fatal(err)
		}
		var data any
		if err := got.Decode(&data); err != nil || cmp.Diff(want, data) != "" {
			t.Errorf("%s: got %v, %v, want %v", text, data, err, want)
		}
	}
	for _, text := range []string{"red # or blue", "&x 1", "[&x 1, *x]", "*x", "1\n---\n2", "{"} {
		if _, err := editing.Value(text); err == nil {
			t.Errorf("%s is a value", text)
		}
	}
}

// Only the named document of a file changes, and a file without values gets them.
func TestSetInDocuments(t *testing.T) {
	got, err := editing.Set([]byte("kind: A\ndata:\n  PORT: \"1\"\n---\nkind: B\ndata:\n  PORT: \"1\"\n"), 1, []string{"data", "PORT"}, valueOf(t, `"2"`))
	if err != nil || string(got) != "kind: A\ndata:\n  PORT: \"1\"\n---\nkind: B\ndata:\n  PORT: \"2\"\n" {
		t.Errorf("got %s, %v", got, err)
	}
	for _, empty := range []string{"", "# nothing yet\n", "# nothing yet"} {
		got, err := editing.Set([]byte(empty), 0, []string{"a", "b"}, valueOf(t, "1"))
		if err != nil || cmp.Diff(map[string]any{"a": map[string]any{"b": 1}}, decoded(t, got)) != "" {
			t.Errorf("%q becomes %q, %v", empty, got, err)
		}
	}
}

func decoded(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var data map[string]any
	if err := yaml.Unmarshal(text, &data); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return data
}

// A value cannot be set below a text, in an alias, or in a file that cannot be read.
func TestSetRefuses(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"a: text\n", "line 1: a is not a map, so that nothing below it can be set"},
		{"x: &x {b: 1}\na: *x\n", "line 2: a is an alias; write its value instead"},
		{"x: &x {b: 1}\na:\n  <<: *x\nx: 1\n", "yaml: unmarshal errors:\n  line 4: mapping key \"x\" already defined at line 1"},
		{"a: &x {b: 2}\nc: *x\n", "a.b cannot be set in this file; write it by hand"},
		{"- a\n", "line 1: it is not a map"},
	} {
		_, err := editing.Set([]byte(test.file), 0, []string{"a", "b"}, valueOf(t, "1"))
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: got error %v, want %s", test.file, err, test.want)
		}
	}
}

// Whatever is set is the only difference.
func FuzzSet(f *testing.F) {
	for _, text := range []string{"", "a: 1", "a: {b: 1}", "a:\n- b\n", "a: |\n  x\n# c\nb: 1\n", "a: 'x' # y", "---\n---\n", "a:\n  b: 1\r\n  c: 2\r\n", "? a\n: b"} {
		f.Add([]byte(text), "a", "b", "x: y")
	}
	f.Fuzz(func(t *testing.T, text []byte, first, second, value string) {
		n := &yaml.Node{}
		n.SetString(value)
		path := []string{first, second}
		got, err := editing.Set(text, 0, path, n)
		if err != nil {
			return
		}
		again, err := editing.Set(got, 0, path, n)
		if err != nil {
			t.Fatalf("%v in %q", err, got)
		}
		if diff := cmp.Diff(decoded(t, got), decoded(t, again)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		path []string
		want string
	}{
		"a line":                      {"# top\na: 1 # one\nb: 2\n", []string{"a"}, "# top\nb: 2\n"},
		"the last one":                {"a: 1\nb: 2\n# end\n", []string{"b"}, "a: 1\n# end\n"},
		"a block":                     {"a:\n  x: 1\n\n  y: 2\nb: 2\n", []string{"a"}, "b: 2\n"},
		"below, with others":          {"a:\n  x: 1\n  # why\n  y: 2\nb: 2\n", []string{"a", "x"}, "a:\n  # why\n  y: 2\nb: 2\n"},
		"below, without others":       {"a:\n  b:\n    x: 1\nc: 2\n", []string{"a", "b", "x"}, "c: 2\n"},
		"in one line":                 {"a: {x: 1, y: 2}\n", []string{"a", "x"}, "a: {y: 2}\n"},
		"in one line, without others": {"a: {x: 1}\nb: 2\n", []string{"a", "x"}, "b: 2\n"},
		"the only one":                {"# note\na: 1\n", []string{"a"}, "# note\n{}\n"},
		"a long text":                 {"a: |\n  x\n  y\nb: 1\n", []string{"a"}, "b: 1\n"},
		"a list":                      {"a:\n- 1\n- 2\nb: 1\n", []string{"a"}, "b: 1\n"},
		"with CRLF":                   {"a: 1\r\nb: 2\r\n", []string{"a"}, "b: 2\r\n"},
		"of three in one line":        {"a: {x: 1, y: 2, z: 3}\n", []string{"a", "y"}, "a: {x: 1, z: 3}\n"},
		"the last in one line":        {"a: {x: 1, y: 2}   # why\n", []string{"a", "y"}, "a: {x: 1}   # why\n"},
		"an element":                  {"a:\n- name: x\n  v: 1\n- 2\n", []string{"a", "[x]"}, "a:\n- 2\n"},
		"in an element":               {"a:\n- name: x\n  v: 1\n- 2\n", []string{"a", "[x]", "v"}, "a:\n- name: x\n- 2\n"},
		"nothing there":               {"a: 1\n", []string{"b"}, "b is not set in this file"},
		"nothing below":               {"a: {}\n", []string{"a", "b"}, "a.b is not set in this file"},
		"below a text":                {"a: 1\n", []string{"a", "b"}, "line 1: a is not a map, so that nothing below it can be set"},
		"an anchor that is used":      {"a: &x 1\nb: *x\n", []string{"a"}, "a cannot be removed from this file; edit it by hand"},
		"of a merge":                  {"base: &x {a: 1}\nb: {<<: *x, c: 2}\n", []string{"b", "a"}, "b.a is not set in this file"},
		"no key":                      {"a: 1\n", nil, "a key is empty"},
	} {
		got, err := editing.Remove([]byte(c.text), 0, c.path)
		if err != nil {
			got = []byte(err.Error())
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Elements of lists are set by name or index, and added by name.
func TestSetInLists(t *testing.T) {
	const file = `hosts:
# the first
- name: west
  port: 80   # http
- name: east
  deep: {a: 1, b: [x, y]}

- 5
flow: [{name: a, v: 1}, 2]
`
	for _, test := range []struct {
		path         []string
		value        string
		was, is, err string
	}{
		{path: []string{"hosts", "[west]", "port"}, value: "81", was: "port: 80 ", is: "port: 81 "},
		{path: []string{"hosts", "[0]", "port"}, value: "81", was: "port: 80 ", is: "port: 81 "},
		{path: []string{"hosts", "[west]", "name"}, value: "north", was: "- name: west", is: "- name: north"},
		{path: []string{"hosts", "[west]", "tls"}, value: "true", was: "port: 80   # http\n", is: "port: 80   # http\n  tls: true\n"},
		{path: []string{"hosts", "[east]", "deep", "b", "[1]"}, value: "z", was: "[x, y]", is: "[x, z]"},
		{path: []string{"hosts", "[2]"}, value: "6", was: "- 5\n", is: "- 6\n"},
		{path: []string{"hosts", "[south]", "port"}, value: "82", was: "- 5\n", is: "- 5\n- name: south\n  port: 82\n"},
		{path: []string{"flow", "[a]", "v"}, value: "2", was: "v: 1}", is: "v: 2}"},
		{path: []string{"flow", "[b]", "v"}, value: "2", was: "}, 2]", is: "}, 2, {name: b, v: 2}]"},
		{path: []string{"added", "[b]", "v"}, value: "2", was: ", 2]\n", is: ", 2]\nadded:\n  - name: b\n    v: 2\n"},
		{path: []string{"hosts", "[9]", "v"}, value: "2", err: "line 3: the list has no element 9"},
		{path: []string{"hosts", "[south]"}, value: "2", err: "line 3: the list has no element with the name south"},
		{path: []string{"hosts", "west"}, value: "2", err: "line 3: hosts is not a map, so that nothing below it can be set"},
	} {
		got, err := editing.Set([]byte(file), 0, test.path, valueOf(t, test.value))
		want := test.err
		if err != nil {
			got = []byte(err.Error())
		} else if test.err == "" {
			want = replaceOnce(t, file, test.was, test.is)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%v: -want +got:\n%s", test.path, diff)
		}
	}
}

// JSON stays JSON, and texts that YAML 1.1 reads as booleans are in quotes.
func TestSetKeepsTheForm(t *testing.T) {
	for _, test := range []struct {
		text  string
		path  []string
		value *yaml.Node
		want  string
	}{
		{`{"a": 1}`, []string{"b"}, valueOf(t, "x"), `{"a": 1, "b": "x"}`},
		{`{"a": 1}`, []string{"a"}, valueOf(t, "x"), `{"a": "x"}`},
		{"{\n  \"a\": 1\n}\n", []string{"b"}, valueOf(t, "2"), "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"a: x\n", []string{"a"}, text("yes"), "a: \"yes\"\n"},
		{"a: {b: x}\n", []string{"a", "c"}, text("off"), "a: {b: x, c: \"off\"}\n"},
		{"a: |\n    x: 1\n    y: 2\nb: 1\n", []string{"a"}, text("x: 3\ny: 2\n"), "a: |\n    x: 3\n    y: 2\nb: 1\n"},
		{"a: |-\n  x: 1\n  y: 2\n", []string{"a"}, text("x: 1\ny: 2\nz: 3"), "a: |-\n  x: 1\n  y: 2\n  z: 3\n"},
	} {
		got, err := editing.Set([]byte(test.text), 0, test.path, test.value)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", test.text, diff)
		}
	}
}

func text(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}
