package gitlab_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (w *world) annotate(c forge.PullRequest, levels ...forge.AnnotationLevel) {
	w.T.Helper()
	a := forge.Annotations{Name: "checks", Commit: c.Head.Commit}
	for i, level := range levels {
		a.All = append(a.All, forge.Annotation{File: "web.yaml", Line: i + 1, Level: level, Message: string(level)})
	}
	w.must(w.repo.Annotate(w.Context(), c.Number, a))
}

// A project may require that threads are resolved.
func TestOnlyRefusalsBlockAMerge(t *testing.T) {
	for _, required := range []bool{false, true} {
		w := newWorld(t)
		if required {
			w.RequireResolved(w.url)
		}
		c := w.open("annotated")
		w.annotate(c, forge.Refusal, forge.Warning, forge.Notice)
		for _, n := range w.Notes(t, w.url, c.Number) {
			if want := required && !strings.Contains(n.Text, "refusal"); n.Resolved != want {
				t.Errorf("required %v: resolved is %v: %s", required, n.Resolved, n.Text)
			}
		}
	}
}

// GitLab could not move the thread to the newest diff.
func TestAnOutdatedThreadIsReplaced(t *testing.T) {
	w := newWorld(t)
	c := w.open("annotated")
	w.annotate(c, forge.Warning)
	w.World.Outdate(strings.TrimPrefix(w.url, w.URL+"/"), c.Number)
	w.annotate(c, forge.Warning)
	if notes := w.Notes(t, w.url, c.Number); len(notes) != 1 || notes[0].Outdated {
		t.Errorf("got %+v", notes)
	}
}

// GitLab computes diffs in the background.
func TestDiffOfAnotherCommitIsAConflict(t *testing.T) {
	w := newWorld(t)
	c := w.open("annotated")
	err := w.repo.Annotate(t.Context(), c.Number, forge.Annotations{Name: "checks", Commit: "not there yet"})
	if !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

// A thread that was deleted meanwhile needs no work.
func TestThreadDeletedMeanwhile(t *testing.T) {
	w := newWorld(t)
	c := w.open("annotated")
	w.annotate(c, forge.Warning)
	w.Faults.Inject(forgetest.Fault{Method: "DELETE", After: true, Answer: forgetest.Answer(http.StatusNotFound, `{"message":"404 Not found"}`)})
	w.annotate(c)
	if notes := w.Notes(t, w.url, c.Number); len(notes) != 0 {
		t.Errorf("got %+v", notes)
	}
}
