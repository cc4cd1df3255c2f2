package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const (
	annotatedFile  = "deploy.yaml"
	annotationName = "kalypso/checks"
)

var annotationRules = []rule{
	{"findings are shown at their places, once", annotated(func(s *suite, c forge.PullRequest) {
		all := []forge.Annotation{finding(3, "has no limits"), finding(7, "runs as root"), finding(0, "is large")}
		s.annotate(c, all...)
		s.wantNotes(c, "3 has no limits", "7 runs as root", "0 is large")
		if s.Fake != nil {
			s.Fake.Faults.Clear()
		}
		s.annotate(c, all...)
		s.wantNotes(c, "3 has no limits", "7 runs as root", "0 is large")
		if s.Fake != nil {
			if writes := slices.Concat(s.Fake.Faults.Requests("POST"), s.Fake.Faults.Requests("DELETE")); len(writes) > 0 {
				s.Errorf("wrote %q", writes)
			}
		}
	})},
	{"fixed findings disappear", annotated(func(s *suite, c forge.PullRequest) {
		s.annotate(c)
		s.annotate(c, finding(3, "has no limits"), finding(7, "runs as root"))
		s.annotate(c, finding(7, "runs as root"), finding(9, "is privileged"))
		s.wantNotes(c, "7 runs as root", "9 is privileged")
		s.annotate(c)
		s.wantNotes(c)
	})},
	{"the next commit has findings of its own", annotated(func(s *suite, c forge.PullRequest) {
		s.annotate(c, finding(3, "has no limits"), finding(7, "runs as root"))
		head := s.Commit(s.T, s.url, c.Head.Branch)
		s.eventually("the head did not move", func() bool { return s.pullRequest(c.Number).Head.Commit == head })
		c.Head.Commit = head
		s.annotate(c, finding(7, "runs as root"))
		s.wantNotes(c, "7 runs as root")
	})},
	{"many findings are bounded, and the rest is counted", annotated(func(s *suite, c forge.PullRequest) {
		var all []forge.Annotation
		for line := range 45 {
			all = append(all, finding(line+1, "is one of many"))
		}
		all[40].Level, all[40].Message = forge.Refusal, "is refused"
		s.annotate(c, all...)
		notes := s.Notes(s.T, s.url, c.Number)
		if len(notes) != forge.MaxAnnotations {
			s.Errorf("%d are shown", len(notes))
		}
		text := ""
		for _, n := range notes {
			text += n.Text
		}
		if !strings.Contains(text, "is refused") || strings.Count(text, "25 more") != 1 {
			s.Errorf("the severest is not shown, or the rest not counted: %s", text)
		}
	})},
	{"a finding is shown at its file when its line is not in the diff", annotated(func(s *suite, c forge.PullRequest) {
		s.annotate(c, finding(55, "is far away"))
		notes := s.Notes(s.T, s.url, c.Number)
		if len(notes) != 1 || notes[0].Line != 55 && !strings.Contains(notes[0].Text, "line 55") {
			s.Errorf("got %+v", notes)
		}
		if s.Fake != nil {
			elsewhere := finding(1, "is somewhere else")
			elsewhere.File = notInChange + "file.yaml"
			s.annotate(c, elsewhere, finding(2, "is here"))
		}
	})},
	{"hostile texts have no effect", annotated(func(s *suite, c forge.PullRequest) {
		hostile := finding(2, "x\n<!-- "+annotationName+" 00 -->\n@everyone [link](https://evil.example.com) <b>bold</b> --> #1 \x1b[31m")
		hostile.Title, hostile.Hint = hostile.Message, hostile.Message
		for range 2 {
			s.annotate(c, hostile)
		}
		notes := s.Notes(s.T, s.url, c.Number)
		if len(notes) != 1 || forge.Marked(notes[0].Text, annotationName+" 00") {
			s.Errorf("got %+v", notes)
		}
	})},
	{"comments of others at lines are kept", annotated(func(s *suite, c forge.PullRequest) {
		if s.Person == nil {
			s.Skip("the harness has no second account")
		}
		theirs := s.as(s.Person).(forge.Annotator)
		s.must(theirs.Annotate(s.ctx, c.Number, forge.Annotations{
			Name: annotationName, Commit: c.Head.Commit, All: []forge.Annotation{finding(3, "has no limits")},
		}))
		s.annotate(c, finding(3, "has no limits"))
		s.must(s.repo.(forge.Annotator).Annotate(s.ctx, c.Number, forge.Annotations{
			Name: "another/program", Commit: c.Head.Commit, All: []forge.Annotation{finding(4, "is something else")},
		}))
		s.annotate(c)
		s.wantNotes(c, "3 has no limits", "4 is something else")
		if comments := s.comments(c.Number); len(comments) > 0 {
			s.Errorf("the conversation has %+v", comments)
		}
	})},
	{"a read-only token cannot annotate", annotated(func(s *suite, c forge.PullRequest) {
		if s.Weak == nil {
			s.Skip("the harness has no token without rights")
		}
		weak := s.as(s.Weak).(forge.Annotator)
		err := weak.Annotate(s.ctx, c.Number, forge.Annotations{
			Name: annotationName, Commit: c.Head.Commit, All: []forge.Annotation{finding(3, "has no limits")},
		})
		if e := s.wantKind(err, forge.ErrDenied); e.Right == "" {
			s.Errorf("%v does not name the right", err)
		}
		s.wantKind(s.repo.(forge.Annotator).Annotate(s.ctx, 4711, forge.Annotations{
			Name: annotationName, Commit: c.Head.Commit, All: []forge.Annotation{finding(3, "has no limits")},
		}), forge.ErrNotFound)
	})},
}

// annotated runs a rule with a pull request that adds a long file.
// The rule is skipped if the forge lacks the ability or the harness cannot read annotations.
func annotated(check func(s *suite, c forge.PullRequest)) func(*suite) {
	return func(s *suite) {
		can[forge.Annotator](s, s.repo)
		if s.Notes == nil {
			s.Skip("the harness does not show annotations")
		}
		if s.Put != nil {
			s.Put(s.T, s.url, "annotated", annotatedFile, strings.Repeat("a line\n", 60))
		}
		check(s, s.open("annotated"))
	}
}

func finding(line int, message string) forge.Annotation {
	return forge.Annotation{File: annotatedFile, Line: line, Level: forge.Warning, Title: "rule", Message: message, Hint: "Do something."}
}

func (s *suite) annotate(c forge.PullRequest, all ...forge.Annotation) {
	s.Helper()
	s.eventually("the forge does not notice the head", func() bool {
		err := s.repo.(forge.Annotator).Annotate(s.ctx, c.Number, forge.Annotations{Name: annotationName, Commit: c.Head.Commit, All: all})
		if s.Eventually == nil || !errors.Is(err, forge.ErrConflict) {
			s.must(err)
		}
		return err == nil
	})
}

// wantNotes checks the comments: each with its line and a part of its text.
func (s *suite) wantNotes(c forge.PullRequest, want ...string) {
	s.Helper()
	got := []string{}
	for _, n := range s.Notes(s.T, s.url, c.Number) {
		found := fmt.Sprintf("%d %q", n.Line, n.Text)
		for _, w := range want {
			line, part, _ := strings.Cut(w, " ")
			// Forges without comments at files use the first line instead.
			if (strings.HasPrefix(found, line+" ") || line == "0" && n.Line == 1) && strings.Contains(n.Text, part) && n.File == annotatedFile {
				found = w
			}
		}
		got = append(got, found)
	}
	slices.Sort(got)
	want = append([]string{}, want...)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("shown (-want +got):\n%s", diff)
	}
}
