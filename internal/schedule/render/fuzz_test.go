package render

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// FuzzTemplate renders any text as a template: it ends soon, writes a bounded output, and says the same every time.
func FuzzTemplate(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/work-is-bounded.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, t := range decodeTemplates(&testing.T{}, archive.Files[0].Data) {
		f.Add(t.Manifests[0].Text)
	}
	for _, source := range builtinSources() {
		for _, m := range source.Manifests {
			f.Add(m.Text)
		}
	}
	for _, line := range lines {
		f.Add(line)
	}
	for _, address := range []string{`{{ list $ }}`, `{{ printf "%p" .Labels }}`, `{{ printf "%d" (list (semver "1.2.3")) }}`} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := exampleData("t")
		d.ConfigData = map[string]any{"a": "b", "list": []any{1, "x"}, "map": map[string]any{"k": "v"}}
		began := time.Now()
		first := renderText(t, text, &d)
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("took %s", took)
		}
		if again := renderText(t, text, &d); again != first {
			t.Errorf("one time %q, another time %q", first, again)
		}
	})
}

func renderText(t *testing.T, text string, d *Data) string {
	l, parsed := libraryOf(textTemplate("t", text))
	if parsed == nil {
		return ""
	}
	out, problems, err := l.Worker().Render(parsed, d)
	if len(out) > maxOutput+1 {
		t.Errorf("wrote %d bytes", len(out))
	}
	if failed := (*Error)(nil); err != nil && !errors.As(err, &failed) {
		t.Errorf("error is a %T", err)
	}
	return said(out, problems, err)
}

// TestBounds makes sure that the known bombs end soon and stay small.
func TestBounds(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/work-is-bounded.txtar")
	if err != nil {
		t.Fatal(err)
	}
	d := exampleData("t")
	for _, source := range decodeTemplates(t, archive.Files[0].Data) {
		t.Run(source.Name, func(t *testing.T) {
			l, _ := NewLibrary(&fleet.Snapshot{Templates: []*fleet.Template{source}}, nil)
			parsed, _ := l.Find(source.Type, source.Name)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, _, _ = l.Worker().Render(parsed, &d)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s, %d bytes allocated", took, allocated)
			if took > 5*time.Minute || allocated > 256<<20 {
				t.Error("takes too much")
			}
		})
	}
}
