package values_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	sigs "sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart/values"
)

// tree generates values with few keys, so that layers overlap.
func tree(depth int) *rapid.Generator[map[string]any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny), rapid.Map(rapid.IntRange(-5, 5), func(i int) any { return float64(i) }),
		rapid.Map(rapid.StringMatching(`[a-z$.{}]{0,6}`), toAny), rapid.Just[any]([]any{"x", 1.0}), rapid.Just[any](map[string]any{}),
	)
	if depth > 0 {
		leaf = rapid.OneOf(leaf, rapid.Map(tree(depth-1), func(m map[string]any) any { return m }))
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c.d", "e"}), leaf, 0, 3)
}

func toAny[T any](v T) any { return v }

func layer(t *rapid.T, name string, data map[string]any) *values.Layer {
	text, err := sigs.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	l, problems := values.Parse("config", name, text)
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return l
}

// An empty layer has no effect, and neither does repeating a layer, also on top of others.
// Layers cannot be merged in groups, as with Helm: a null between two maps would be lost.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := tree(2).Draw(t, "a"), tree(2).Draw(t, "b")
		data := func(trees ...map[string]any) map[string]any {
			var layers []*values.Layer
			for _, data := range trees {
				layers = append(layers, layer(t, "f", data))
			}
			return values.Compose(layers, nil).Data
		}
		for name, pair := range map[string][2]map[string]any{
			"empty below": {data(map[string]any{}, a), data(a)},
			"empty above": {data(a, map[string]any{}), data(a)},
			"twice":       {data(a, a), data(a)},
			"on top":      {data(a, b, b), data(a, b)},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

// The keys are exactly the values, each from the last file that sets it,
// and the YAML for reviewers equals the data.
func TestEveryValueHasItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := tree(2).Draw(t, "a"), tree(2).Draw(t, "b")
		vars := values.Vars{"a": "1", "b": "{}"}
		composed := values.Compose([]*values.Layer{layer(t, "a", a), layer(t, "b", b)}, vars)
		again := values.Compose([]*values.Layer{layer(t, "a", a), layer(t, "b", b)}, vars)
		if diff := cmp.Diff(composed.Keys, again.Keys); diff != "" {
			t.Errorf("not the same twice: %s", diff)
		}
		for _, key := range composed.Keys {
			if key.From.Line == 0 {
				t.Errorf("%s has no line", key.Path)
			}
			if len(key.Over) > 0 && key.From.File != "b" {
				t.Errorf("%s is from %s and won against %v", key.Path, key.From.File, key.Over)
			}
		}
		text, err := composed.YAML()
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]any{}
		if err := sigs.Unmarshal(text, &read); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(composed.Data, read); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "a: 1", "- a", "a: &a [*a]", "a: &x {<<: *x}", "? {a: b}\n: c", "a: !!binary aGk=", "a: .inf", "a: 2020-01-01",
		"<<: {a: 1}", "<<: [{a: 1}, {a: 2}]\na: 3", "a: |\n  # no comment\n  x", "\"a\\u2028b\": \"c\\u0085\"", "a: 0x1F\nb: 1_000\nc: 0o7",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, problems := values.Parse("config", "values.yaml", text)
		if (l == nil) == (len(problems) == 0) {
			t.Fatalf("layer %v and problems %v", l, problems)
		}
		if l == nil {
			return
		}
		composed := values.Compose([]*values.Layer{l, l}, values.Vars{"A": "$A"})
		written, err := composed.YAML()
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]any{}
		if err := sigs.Unmarshal(written, &read); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		got, _ := json.Marshal(read)
		want, _ := json.Marshal(composed.Data)
		if string(got) != string(want) {
			t.Errorf("wrote %s, and it reads %s\n%s", want, got, written)
		}
	})
}

// Expressions are read and computed without a panic, with the same result each time.
func FuzzParseExpressions(f *testing.F) {
	for _, text := range []string{
		"a: '1'", "a: config.b\nb: config.a", "a: above.a", "a: {b: 'target.labels'}", "a: '{1: 2}'", "a: '[1, 2].map(x, x * x)'", "a: 'level.site'", "a: '\"x\" * 2'",
		"a: &x '1'\nb: *x", "a: config.c.d\nc: '{\"d\": 0.5}'", "a: optional.none()", "a: 9223372036854775807 + 1", "a: 'null'", "a: 1.0 / 0.0",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, problems := values.ParseExpressions("config", "values.cel.yaml", text)
		if (l == nil) == (len(problems) == 0) {
			t.Fatalf("layer %v and problems %v", l, problems)
		}
		if l == nil {
			return
		}
		facts := values.Facts{Environment: "dev", Workload: "w", Target: "t", Labels: map[string]string{"a": "b"}, Levels: map[string]string{"site": "s"}}
		first, problems := values.Compute([]*values.Layer{l, l}, nil, facts)
		second, again := values.Compute([]*values.Layer{l, l}, nil, facts)
		if diff := cmp.Diff(problems, again); diff != "" || first.Digest != second.Digest {
			t.Errorf("two results for the same input: %s %s", first.Digest, diff)
		}
		if _, err := first.YAML(); err != nil {
			t.Error(err)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"$A", "${A}", "$AB", "$$A", "${A", "$", "a$A-${B}$C", "${}", "$1"} {
		f.Add(text, "A", "x$B")
	}
	f.Fuzz(func(t *testing.T, text, name, value string) {
		if values.Vars(nil).Expand(text) != text {
			t.Error("changed without variables")
		}
		got := values.Vars{name: value}.Expand(text)
		if !strings.Contains(text, "$"+name) && !strings.Contains(text, "${"+name+"}") && got != text {
			t.Errorf("%q has no reference to %q, got %q", text, name, got)
		}
		if same := (values.Vars{name: "$" + name}).Expand(strings.ReplaceAll(text, "{", "")); same != strings.ReplaceAll(text, "{", "") {
			t.Errorf("a reference replaced by itself gives %q", same)
		}
	})
}
