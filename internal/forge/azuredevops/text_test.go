package azuredevops

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func TestCutTextKeepsItsMarker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aé🚀\n ")), 0, 300, -1).Draw(t, "text")
		limit := rapid.IntRange(40, 200).Draw(t, "limit")
		marked := forge.Mark(text, "m", limit)
		got := fit(marked, limit)
		if units(got) > limit || !forge.Marked(got, "m") {
			t.Fatalf("%d units of %d: %q", units(got), limit, got)
		}
		if units(marked) <= limit && got != marked {
			t.Fatalf("%q was cut to %q", marked, got)
		}
		if plain := fit(text, limit); units(plain) > limit || !strings.HasPrefix(text, strings.TrimSuffix(plain, "…")) {
			t.Fatalf("%q was cut to %q", text, plain)
		}
	})
}

func TestTextsSurviveHTML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got := fromHTML(toHTML(text)); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
	if got := fromHTML("<div>another</div>"); got != "<div>another</div>" {
		t.Errorf("got %q", got)
	}
}

func TestContextsHaveOneSpelling(t *testing.T) {
	for name, want := range map[string]statusContext{
		"ci": {"", "ci"}, "kalypso/plan": {"kalypso", "plan"}, "a/b/c": {"a/b", "c"}, "/a": {"", "/a"}, "a/": {"", "a/"},
	} {
		if got := contextOf(name); got != want || got.String() != name {
			t.Errorf("%q is %+v, spelled %q", name, got, got)
		}
	}
}
