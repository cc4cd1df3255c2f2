package check

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// simplified returns the pattern of a rule without the conditions on what is around a match, for which no text can be made.
func simplified(r *rule) string {
	return strings.NewReplacer(`\b`, "", "^", "", "$", "").Replace(r.Pattern)
}

// TestMatchesInLines compares the matches in the lines with a literal with those in the whole text.
func TestMatchesInLines(t *testing.T) {
	d := must(t).specific
	var rules []int
	for i := range d.rules {
		if d.inLine[i] && d.literals[i] != nil {
			rules = append(rules, i)
		}
	}
	if len(rules) < 50 {
		t.Fatalf("only %d patterns are looked for in lines", len(rules))
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.SampledFrom(rules).Draw(t, "rule")
		var b strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			b.WriteString(rapid.OneOf(
				rapid.StringMatching(simplified(&d.rules[i])), rapid.SampledFrom(d.literals[i]), rapid.SampledFrom([]string{"\n", "\n\n", " ", "\"", "x", "\r\n", "a: b\n"}),
			).Draw(t, "part"))
		}
		text, most := b.String(), rapid.IntRange(1, 4).Draw(t, "most")
		want, got := d.rules[i].regex.FindAllStringIndex(text, most), d.matches(i, text, most)
		found += len(want)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%s in %q (-whole +lines):\n%s", d.rules[i].ID, text, diff)
		}
	})
	if found == 0 {
		t.Error("nothing was found in any text")
	}
}

// TestManyMatchesAreBounded: a line with more matches than are examined takes no more time than its length asks for, is a finding, and is
// hidden as a whole.
func TestManyMatchesAreBounded(t *testing.T) {
	text := "data: " + strings.Repeat(`password="q8Jz3vN0xKd71LmPw5Rt" `, 100_000)
	findings := secrets("values.yaml", []byte(text))
	if len(findings) == 0 || !strings.Contains(findings[len(findings)-1].Message, "were not examined") {
		t.Errorf("%d findings", len(findings))
	}
	if got := Redact(text); got != hidden {
		t.Errorf("got %d bytes", len(got))
	}
	if got := Redact(`password="q8Jz3vN0xKd71LmPw5Rt"`); got != `password="***"` {
		t.Errorf("got %s", got)
	}
}

// A credential in a manifest is told by its object and field, since the file may not be written. A line with
// several fields names what they are in.
func TestCredentialsNameTheirField(t *testing.T) {
	token := "ghp_" + "x9Kq2LmZ7vT4bN8wR3" + "yF6hJ1sD5gA0cE9uPi"
	c, err := New(Policy{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: y\n  token: " + token + "\n":                                                                             "ConfigMap a: data.token",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec:\n  containers:\n  - args:\n    - a\n    - " + token + "\n": "Pod b: spec.containers[0].args[1]",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: y, token: " + token + "}\n":                                                                                 "ConfigMap a: data",
	} {
		found := false
		for _, f := range c.file("manifests.yaml", []byte(text)) {
			if f.Rule == RuleSecret {
				found = true
				if f.Place() != want {
					t.Errorf("got %q, want %q", f.Place(), want)
				}
			}
		}
		if !found {
			t.Errorf("no finding in %s", text)
		}
	}
	if got := (Finding{File: "a.yaml", Line: 3}).Place(); got != "a.yaml: line 3" {
		t.Errorf("got %q", got)
	}
}
