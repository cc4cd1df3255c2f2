package texts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
)

func TestLabelsAreTheFirstLine(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   {},
		"What changes":                       {},
		"Labels: `b`, `a`\n\nWhat changes":   {"a", "b"},
		"labels: kalypso/allow-deletions\nx": {"kalypso/allow-deletions"},
		"LABELS:a,A, `a` ,":                  {"a"},
		"What changes\n\nLabels: `a`":        {},
		"> Labels: `a`":                      {},
		"Labels:":                            {},
		"Labels: a\r\n\r\nx":                 {"a"},
		"Labels: a\x00b, " + strings.Repeat("x", 201): {},
	} {
		if got, _ := texts.Parse(text); !cmp.Equal(want, got) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A body may quote anything that a repository has. It must not approve anything.
func TestABodyCannotAddLabels(t *testing.T) {
	body := "Labels: `kalypso/allow-deletions`\n\nWhat changes"
	for range 3 {
		text := texts.Compose(nil, body)
		labels, got := texts.Parse(text)
		if len(labels) != 0 || got != body {
			t.Errorf("%q is %q with labels %q", text, got, labels)
		}
		body = text
	}
}

func TestMarkersAreHidden(t *testing.T) {
	body := forge.Mark("The plan\n", "kalypso/plan dev", 0)
	text := texts.Compose([]string{"a"}, body)
	if strings.Contains(text, "<!--") {
		t.Errorf("pages show %q", text)
	}
	labels, got := texts.Parse(text)
	if !forge.Marked(got, "kalypso/plan dev") || got != body || !cmp.Equal(labels, []string{"a"}) {
		t.Errorf("got %q, %q", labels, got)
	}
	page := "What changes\n\n<details><summary>The <b>difference</b></summary>\n\n- a\n\n</details>\n\n<sub>from **x**</sub>\n"
	if text = texts.Hide(page); strings.Contains(text, "<details>\n\n") || strings.Contains(text, "\n</details>") || strings.Contains(text, "<sub>f") {
		t.Errorf("pages show %q", text)
	} else if got := texts.Show(text); got != page {
		t.Errorf("got %q", got)
	}
	for _, kept := range []string{"<details> in a line", "x <sub>y</sub>", "`<!-- x -->`", "<!-- a (b) -->", "<!-- open", "[//]: # x"} {
		if texts.Show(texts.Hide(kept)) != kept {
			t.Errorf("%q changes", kept)
		}
	}
}

func TestLabelsThatCannotBeWrittenAreRefused(t *testing.T) {
	for _, name := range []string{"", " a", "a,b", "a`b", "a\nb", strings.Repeat("x", 300)} {
		if _, err := texts.Add(nil, name); err == nil {
			t.Errorf("%q is added", name)
		}
	}
	all, err := texts.Add([]string{"A"}, "a", "b")
	if err != nil || !cmp.Equal(all, []string{"A", "b"}) {
		t.Errorf("got %q, %v", all, err)
	}
	if all = texts.Remove(all, "a"); !cmp.Equal(all, []string{"b"}) {
		t.Errorf("got %q", all)
	}
	for i := range 100 {
		if all, err = texts.Add(all, strings.Repeat("x", 100+i%90)); err != nil {
			return
		}
	}
	t.Error("any number of labels is added")
}

func FuzzRoundTrip(f *testing.F) {
	for _, body := range []string{"", "Labels: x\n\n", "\n", "a\n\n<!-- m -->", "Labels:\r\n\r\nx", "labels: `"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "[//]") {
			return // is read as the marker that it is
		}
		for _, labels := range [][]string{{}, {"a", "b/c: d"}} {
			got, back := texts.Parse(texts.Compose(labels, body))
			if back != body || !cmp.Equal(got, labels) {
				t.Errorf("%q with %q became %q with %q", body, labels, back, got)
			}
		}
	})
}
