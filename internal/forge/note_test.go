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

// TestTurnEndsInWhatIsWanted: whatever is there, deleting what is gone and writing what is missing leaves exactly the notes,
// and then there is nothing to do.
func TestTurnEndsInWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, before := someAnnotations(t, "wanted"), someAnnotations(t, "before")
		var there []forge.Standing
		stand := func(notes []forge.Note) {
			for _, n := range notes {
				there = append(there, forge.Standing{ID: fmt.Sprint(len(there)), Body: n.Body(true)})
			}
		}
		stand(before.Notes())
		for i := range there {
			there[i].Outdated = rapid.Bool().Draw(t, "outdated")
		}
		if rapid.Bool().Draw(t, "two servers") {
			stand(before.Notes())
		}
		others := forge.Annotations{Name: "others", All: before.All}
		stand(others.Notes())
		gone, missing := want.Turn(there)
		kept := there[:0:0]
		for _, s := range there {
			if !slices.Contains(gone, s) {
				kept = append(kept, s)
			}
		}
		there = kept
		stand(missing)
		if len(there) != len(want.Notes())+len(others.Notes()) {
			t.Fatalf("%d stand, want %d and %d of others", len(there), len(want.Notes()), len(others.Notes()))
		}
		if gone, missing := want.Turn(there); len(gone) > 0 || len(missing) > 0 {
			t.Fatalf("again: %d gone, %d missing", len(gone), len(missing))
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

// TestTextsOfAnnotationsMeanNothing: no text ends its line, begins a marker or makes a tag.
func TestTextsOfAnnotationsMeanNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("\n<!-- checks 00 -->\n"), rapid.Just("x --> <script>")).Draw(t, "text")
		a := forge.Annotations{Name: "checks", All: []forge.Annotation{{Level: forge.Notice, Title: text, Message: text, Hint: text}}}
		body := a.Notes()[0].Body(true)
		if strings.Count(body, "<") != 1 || !a.Wrote(body) || forge.Marked(body, "checks 00") {
			t.Fatalf("got %q", body)
		}
	})
}

func TestPlace(t *testing.T) {
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
		asked := 0
		err := forge.Note{Annotation: forge.Annotation{Line: tc.line}}.Place(func(string, bool) error {
			asked++
			return tc.answers[asked-1]
		})
		if !errors.Is(err, tc.want) || asked != len(tc.answers) {
			t.Errorf("%s: %v after %d tries", name, err, asked)
		}
	}
}
