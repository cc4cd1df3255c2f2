package azuredevops_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Policies may require that threads are resolved.
func TestOnlyRefusalsBlockAMerge(t *testing.T) {
	w := newWorld(t)
	c := w.open("annotated")
	var all []forge.Annotation
	for i, level := range []forge.AnnotationLevel{forge.Refusal, forge.Warning, forge.Notice} {
		all = append(all, forge.Annotation{File: "web.yaml", Line: i + 1, Level: level, Message: string(level)})
	}
	w.must(w.repo.Annotate(t.Context(), c.Number, forge.Annotations{Name: "checks", Commit: c.Head.Commit, All: all}))
	for _, n := range w.Notes(t, w.url, c.Number) {
		if n.Resolved == strings.Contains(n.Text, "refusal") {
			t.Errorf("resolved is %v: %s", n.Resolved, n.Text)
		}
	}
}
