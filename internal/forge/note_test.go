package forge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func ExampleAnnotations_Notes() {
	a := forge.Annotations{Name: "checks", Commit: "c0ffee", All: []forge.Annotation{{
		File: "web.yaml", Line: 7, Level: forge.Warning, Title: "latest-tag", Message: "<b>@web</b> may be another image tomorrow", Hint: "Name a version.",
	}}}
	for _, n := range a.Notes() {
		fmt.Println(strings.ReplaceAll(n.Body(false), n.Marker, "checks …"))
	}
	// Output:
	// **Warning** in line 7 &lt;b&gt;@&#8203;web&lt;/b&gt; may be another image tomorrow (latest-tag)
	//
	// Name a version.
	//
	// <!-- checks … -->
}

// board is a forge that shows notes; places says which it has.
type board struct {
	there  []forge.ExistingNote
	writes int
	places func(n forge.Note, atLine bool) error
}

func (b *board) write(n forge.Note, body string, atLine bool) error {
	b.writes++
	if b.places != nil {
		if err := b.places(n, atLine); err != nil {
			return err
		}
	}
	b.there = append(b.there, forge.ExistingNote{ID: fmt.Sprint(b.writes), Body: body})
	return nil
}

func (b *board) remove(id string) error {
	b.writes++
	b.there = slices.DeleteFunc(b.there, func(s forge.ExistingNote) bool { return s.ID == id })
	return &forge.Error{Kind: forge.ErrNotFound} // another server was there before
}

func (b *board) settle(a forge.Annotations) error {
	return a.Settle(slices.Clone(b.there), b.remove, b.write)
}

// TestSettleConverges: whatever is there, it leaves exactly the notes, and then there is nothing to do.
func TestSettleConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, before := someAnnotations(t, "wanted"), someAnnotations(t, "before")
		others := forge.Annotations{Name: "others", All: before.All}
		b := &board{}
		for _, a := range []forge.Annotations{before, others} {
			if err := b.settle(a); err != nil {
				t.Fatal(err)
			}
		}
		for i := range b.there {
			b.there[i].Outdated = rapid.Bool().Draw(t, "outdated")
		}
		if rapid.Bool().Draw(t, "two servers") {
			for _, n := range before.Notes() {
				if err := b.write(n, n.Body(true), true); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := b.settle(want); err != nil {
			t.Fatal(err)
		}
		if len(b.there) != len(want.Notes())+len(others.Notes()) {
			t.Fatalf("%d stand, want %d and %d of others", len(b.there), len(want.Notes()), len(others.Notes()))
		}
		was := b.writes
		if err := b.settle(want); err != nil || b.writes > was {
			t.Fatalf("again: %d writes, %v", b.writes-was, err)
		}
	})
}

func someAnnotations(t *rapid.T, label string) forge.Annotations {
	text := rapid.StringMatching("[a-c<>!@\n -]{0,8}")
	one := rapid.Custom(func(t *rapid.T) forge.Annotation {
		return forge.Annotation{
			File: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "file"), Line: rapid.IntRange(0, 3).Draw(t, "line"),
			Level: rapid.SampledFrom([]forge.AnnotationLevel{forge.Refusal, forge.Warning, forge.Notice}).Draw(t, "level"),
			Title: text.Draw(t, "title"), Message: text.Draw(t, "message"), Hint: text.Draw(t, "hint"),
		}
	})
	return forge.Annotations{Name: "checks", Commit: "c", All: rapid.SliceOfN(one, 0, 30).Draw(t, label)}
}

// TestHostileAnnotationTexts: no text ends its line, begins a marker or makes a tag.
func TestHostileAnnotationTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("\n<!-- checks 00 -->\n"), rapid.Just("x --> <script>")).Draw(t, "text")
		a := forge.Annotations{Name: "checks", All: []forge.Annotation{{Level: forge.Notice, Title: text, Message: text, Hint: text}}}
		body := a.Notes()[0].Body(true)
		if strings.Count(body, "<") != 1 || !a.Wrote(body) || forge.Marked(body, "checks 00") {
			t.Fatalf("got %q", body)
		}
	})
}

// TestSettleFallsBackToTheFile at the line, at the file, or nowhere.
func TestSettleFallsBackToTheFile(t *testing.T) {
	invalid := &forge.Error{Kind: forge.ErrInvalid}
	for name, tc := range map[string]struct {
		line    int
		answers []error
		want    error
	}{
		"at its line":              {3, []error{nil}, nil},
		"at its file":              {3, []error{invalid, nil}, nil},
		"nowhere":                  {3, []error{invalid, invalid}, nil},
		"one of a file":            {0, []error{nil}, nil},
		"one of a file, nowhere":   {0, []error{invalid}, nil},
		"where we have no right":   {3, []error{forge.ErrDenied}, forge.ErrDenied},
		"nowhere, without a right": {3, []error{invalid, forge.ErrDenied}, forge.ErrDenied},
	} {
		b := &board{}
		b.places = func(n forge.Note, atLine bool) error {
			if atLine != (b.writes == 1 && n.Line > 0) {
				t.Errorf("%s: try %d is at the line: %v", name, b.writes, atLine)
			}
			return tc.answers[b.writes-1]
		}
		err := b.settle(forge.Annotations{Name: "checks", All: []forge.Annotation{{Line: tc.line, Level: forge.Notice}}})
		if !errors.Is(err, tc.want) || b.writes != len(tc.answers) {
			t.Errorf("%s: %v after %d tries", name, err, b.writes)
		}
	}
}
