package tour

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// view is the page.
type view struct {
	Steps         []stepView
	Number, Total int
	// Step is the one that is shown; nil if all are done. Back is the number of the step before it; 0 for the first one.
	Step *stepView
	Back int
	// Review means that the step is an earlier one, without forms.
	Review bool
	// Form is the token of forms; empty if the user may only read. SignIn is where to sign in, with the token in the file Token.
	Form, SignIn, Token string
	// Note is why what the user wanted was not done.
	Note string
	// Edit is the form with the file; nil if there is nothing to edit.
	Edit *editView
	// Proposed is the open pull request of the change, and PlanAddress its plan; Plans are the plans of it, and PlanNote why there is none.
	Proposed              *pullView
	PlanAddress, PlanNote string
	Plans                 []trial.Plan
	// Wrong reports that the change has errors. Planned reports that its plan is there and has none, so that it can be merged.
	Wrong, Planned bool
	// Nodes draw the way of the change.
	Nodes []node
	// Arrivals are where the change is, and Merge the pull requests that wait for the user.
	Arrivals []arrival
	Merge    []pullView
	// Fail and Repair offer to change the cluster.
	Fail, Repair bool
	// Waits reports that something happens without the user.
	Waits bool
	// Greeting is the address of the application on a cluster.
	Greeting string
}

type stepView struct {
	Number        int
	Title, Text   string
	Done, Current bool
	// Shown means that the page shows it.
	Shown bool
}

// pullView is a pull request, with the name of its repository.
type pullView struct {
	forge.PullRequest
	Repository string
}

// node is a station on the way of a change.
type node struct {
	Name, Address string
	// State says how far it is, in one or two words, and Tone is its color.
	State, Tone string
	// About is a line more; optional.
	About string
	// Clusters has the tone of each cluster; empty for a station without clusters.
	Clusters []string
	// Now means that the change is here, Moves that it is on the way to it.
	Now, Moves bool
}

// nodes draws the way of a step's change: the edit, its pull request, and the branches that clusters follow.
func nodes(s *state) []node {
	var all []node
	if s.change != nil {
		merged := s.merged()
		edit := node{Name: s.change.file, State: "not started", Tone: "off", Now: s.pull == nil, About: s.change.repository}
		pull := node{Name: "pull request", State: "not started", Tone: "off"}
		switch {
		case merged:
			edit.State, edit.Tone = "done", "good"
			pull.State, pull.Tone, pull.Moves = "merged", "good", true
		case s.pull != nil:
			edit.State, edit.Tone = "done", "good"
			pull.State, pull.Tone, pull.Now, pull.Moves = "open", "move", true, true
		}
		if s.pull != nil {
			pull.Name, pull.Address = fmt.Sprintf("pull request #%d", s.pull.Number), s.pull.URL
		}
		all = append(all, edit, pull)
	}
	for _, p := range s.places {
		n := node{Name: p.String(), Address: "/environments/" + p.environment, State: "not started", Tone: "off", Clusters: slices.Repeat([]string{"off"}, clusters)}
		for _, a := range s.arrivals {
			if a.place == p {
				n.arrived(&a)
			}
		}
		all = append(all, n)
	}
	return all
}

// clusters is the number of clusters of each environment of the sample.
const clusters = 3

// arrived says how far a change is at a station.
func (n *node) arrived(a *arrival) {
	n.Moves = a.Published || a.Pull != nil
	switch {
	case a.Done():
		n.State, n.Tone = "good", "good"
	case a.Failed():
		n.State, n.Tone, n.Now = "failed", "bad", true
	case a.Published:
		n.State, n.Tone, n.Now = "applying", "move", true
	case a.Pull != nil:
		n.State, n.Tone, n.Now = "proposed", "move", true
	}
	if !a.Published || a.Counts.Counted == 0 {
		return
	}
	n.Clusters = slices.Concat(slices.Repeat([]string{"bad"}, a.Counts.Failed), slices.Repeat([]string{"good"}, a.Counts.Reached),
		slices.Repeat([]string{"move"}, max(0, a.Counts.Counted-a.Counts.Failed-a.Counts.Reached)))
	n.About = fmt.Sprintf("%d of %d run it", a.Counts.Reached, a.Counts.Counted)
}

// editView is a file to edit.
type editView struct {
	Repository, Branch, File string
	// Now is the content on the branch, and Content that of the form.
	Now, Content string
	// Again reports that it is proposed already.
	Again bool
}

// mergeForm is the form that merges a pull request.
type mergeForm struct {
	pullView
	Form string
}

// MergeForms are the forms for the pull requests that wait for the user.
func (v *view) MergeForms() []mergeForm {
	waiting := v.Merge
	if v.Proposed != nil {
		waiting = []pullView{*v.Proposed}
	}
	var all []mergeForm
	for _, one := range waiting {
		all = append(all, mergeForm{one, v.Form})
	}
	return all
}

// Rows is the height of the form.
func (e editView) Rows() int {
	n := 2
	for _, r := range e.Content {
		if r == '\n' {
			n++
		}
	}
	return min(n, 20)
}

// fill adds what the page shows of the current step.
func (t *Tour) fill(ctx context.Context, v *view, s *state, content string) error {
	v.Greeting = sample.Root + "/" + cluster + "/" + stage + "-" + cluster + "-hello-world-app-uat-test"
	if s == nil {
		return nil
	}
	v.Step = &stepView{Number: v.Number, Title: s.title, Text: s.text}
	v.Fail, v.Repair = s.fails && !s.failing && !s.merged(), s.failing && !(s.fails && !s.merged())
	v.Arrivals, v.Nodes = s.arrivals, nodes(s)
	for _, one := range open(s) {
		if s.pull != nil && s.pull.State == forge.Open {
			v.Proposed = &one
			continue
		}
		v.Merge = append(v.Merge, one)
	}
	if v.Proposed != nil {
		t.plan(ctx, v, s)
	}
	v.Waits = v.Waits || len(v.Merge) == 0 && !v.Fail && !v.Repair && (s.change == nil || s.merged())
	if s.change == nil || s.merged() || v.Fail || v.Waits {
		return nil
	}
	return t.edit(ctx, v, s, content)
}

// plan adds the plan of the proposed change.
func (t *Tour) plan(ctx context.Context, v *view, s *state) {
	if s.change.repository != sample.ControlPlane {
		v.PlanNote = "Nothing is planned for a source repository: once it is merged, the manifests are rendered, and proposed to each environment."
		v.Planned = true
		return
	}
	question := schedule.PlanRequest{ControlPlane: t.Site.Repository(sample.ControlPlane), Change: v.Proposed.Number}
	v.PlanAddress = "/plan?" + url.Values{"change": {fmt.Sprint(question.Change)}, "controlPlane": {question.ControlPlane}}.Encode()
	answer, err := t.Pages.Trials.Preview(ctx, question, true)
	var pending *trial.Pending
	switch {
	case errors.As(err, &pending), errors.Is(err, trial.ErrBusy):
		v.Waits = true
	case err != nil:
		v.PlanNote = secret.Line(secret.Redact(err.Error()))
	case answer.Change == nil || answer.Change.Head.Commit != v.Proposed.Head.Commit:
		v.Waits = true // the planner keeps answers for a moment, and this one is about the commit before
	default:
		v.Plans = answer.Plans
		for _, p := range answer.Plans {
			v.Wrong = v.Wrong || len(p.New) > 0
		}
		v.Planned = !v.Wrong
	}
}

// edit adds the form with the file: what the user wrote last, what is proposed, or what the tour suggests.
func (t *Tour) edit(ctx context.Context, v *view, s *state, written string) error {
	now, err := t.content(ctx, s.change, s.change.base)
	if err != nil {
		return err
	}
	v.Edit = &editView{
		Repository: s.change.repository, Branch: s.change.base, File: s.change.file, Now: now, Content: s.change.suggest(now), Again: v.Proposed != nil,
	}
	switch {
	case written != "":
		v.Edit.Content = written
	case v.Proposed != nil:
		v.Edit.Content, err = t.content(ctx, s.change, s.branch())
	}
	return err
}
