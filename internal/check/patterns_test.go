package check

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func must(t testing.TB) *patterns {
	t.Helper()
	p, err := newPatterns()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGenericPattern detects changes of the pattern that windows are
// designed for. If it fails, check words and reach.
func TestGenericPattern(t *testing.T) {
	const want = `(?i)[\w.-]{0,50}?(?:access|auth|(?-i:[Aa]pi|API)|credential|creds|key|passw(?:or)?d|secret|token)(?:[ \t\w.-]{0,20})` +
		`[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}([\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,}={0,3})(?:[\x60'"\s;]|\\[nr]|$)`
	p := must(t)
	if len(p.generic.rules) != 1 || p.generic.rules[0].Pattern != want {
		t.Errorf("the pattern is now\n%v", p.generic.rules)
	}
	if len(p.specific.rules) < 200 || slices.ContainsFunc(p.specific.rules, func(r rule) bool { return strings.Contains(r.ID, "generic") }) {
		t.Errorf("the others are %d", len(p.specific.rules))
	}
}

func TestWindows(t *testing.T) {
	lines := strings.Split(strings.Repeat("a: 1\n", 30), "\n")
	lines[3], lines[8], lines[25] = "key: 1", "token:", "api: x"
	text := strings.Join(lines, "\n")
	got := windows(text)
	want := []window{{strings.Join(lines[3:17], "\n") + "\n", 3}, {strings.Join(lines[25:], "\n"), 25}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(window{})); diff != "" {
		t.Error(diff)
	}
	for _, none := range []string{"", "apiVersion: v1\nkind: Pod\n", "  - apiVersion: v1\n"} {
		if got := windows(none); len(got) > 0 {
			t.Errorf("%q has %+v", none, got)
		}
	}
}
