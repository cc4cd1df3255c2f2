package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// planPage asks what something would do, and says it.
type planPage struct {
	ControlPlanes []string
	Environments  []string
	// own are the environments of the control plane that is asked about.
	own []string
	// Question is what the address asks; Asked says that it asks anything.
	Question schedule.Trial
	Asked    bool
	// About names the question.
	About string
	// Failed is why there is no answer; nil while there is none to have.
	Failed *failure
	// Pending says that the answer is on its way.
	Pending *trial.Pending
	// Change is the one that was asked about, At when it was planned, and Plans what it would do.
	Change *forge.PullRequest
	At     time.Time
	Plans  []planView
}

// planView is a plan with where it is acted upon.
type planView struct {
	trial.Plan
	// Address is where its environment is shown, Command what says the same on the command line.
	Address, Command string
}

// planAnswer is the page for programs. Without a question it says what can be asked about.
type planAnswer struct {
	ControlPlanes []string                   `json:"controlPlanes"`
	Environments  []string                   `json:"environments"`
	Plans         []*plan.Plan               `json:"plans,omitempty"`
	Problems      map[string][]fleet.Problem `json:"problems,omitempty"`
	Planned       time.Time                  `json:"planned,omitzero"`
	// Pending says that the answer is on its way, and since when; ask again.
	Pending *pendingAnswer `json:"pending,omitempty"`
}

type pendingAnswer struct {
	Since time.Time `json:"since"`
	Waits bool      `json:"waits,omitempty"`
}

// planAgain is after which time a browser asks again for a plan that is not there yet.
const planAgain = 2 * time.Second

func (s *site) plan(q *question) (*answer, error) {
	view := planPage{Question: s.trialOf(q), ControlPlanes: []string{}, Environments: []string{}}
	for _, standing := range s.Observer.Standings() {
		view.ControlPlanes = append(view.ControlPlanes, standing.ControlPlane)
		view.Environments = append(view.Environments, standing.Environment)
		if chosen := view.Question.ControlPlane; chosen == "" || chosen == standing.ControlPlane {
			view.own = append(view.own, standing.Environment)
		}
	}
	view.ControlPlanes, view.Environments, view.own = sorted(view.ControlPlanes), sorted(view.Environments), sorted(view.own)
	value := planAnswer{ControlPlanes: view.ControlPlanes, Environments: view.Environments}
	a := &answer{title: "Plan"}
	view.Asked = slices.ContainsFunc([]string{"change", "branch", "commit", "environment"}, func(name string) bool { return q.text(name) != "" })
	if view.Asked {
		view.About = aboutTrial(view.Question)
		a.title = view.About
		s.ask(q, &view, &value, a)
	}
	a.value, a.view = value, view
	return a, nil
}

// ask asks the desk, and puts what it says into the page.
func (s *site) ask(q *question, view *planPage, value *planAnswer, a *answer) {
	found, err := s.tried(q, view)
	var pending *trial.Pending
	switch {
	case errors.As(err, &pending):
		view.Pending, a.again, a.status = pending, planAgain, http.StatusAccepted
		value.Pending = &pendingAnswer{Since: pending.Since.UTC(), Waits: pending.Waits}
	case err != nil:
		f := failureOf(err)
		if f.Status == http.StatusInternalServerError {
			f.Request = access.RequestID(q.Context())
			s.logFailure(f, err)
		}
		view.Failed, a.failed, a.status = &f, err, f.Status
	default:
		view.Change, view.At = found.Change, found.At
		for _, one := range found.Plans {
			view.Plans = append(view.Plans, s.planView(view.Question, found.Change, one))
		}
		value.Plans, value.Problems, value.Planned = found.Preview.Plans, found.Problems, found.At.UTC()
		a.summary = found.Summary()
	}
}

func (s *site) tried(q *question, view *planPage) (trial.Answer, error) {
	if s.Trials == nil {
		return trial.Answer{}, errNoPage
	}
	if err := checkTrial(q, view); err != nil {
		return trial.Answer{}, &planError{err}
	}
	found, err := s.Trials.Ask(q.Context(), view.Question, q.role.Includes(access.Operator))
	var pending *trial.Pending
	var broken *trial.PanicError
	switch {
	case err == nil, errors.As(err, &pending):
		return found, err
	case errors.As(err, &broken):
		return found, &panicError{cause: broken.Cause, stack: broken.Stack}
	}
	return found, &planError{err}
}

// trialOf is what the address asks. Of several control planes, an environment tells which one is meant.
func (s *site) trialOf(q *question) schedule.Trial {
	t := schedule.Trial{
		ControlPlane: q.text("controlPlane"), Environment: q.text("environment"),
		Branch: q.text("branch"), Into: q.text("into"), Commit: q.text("commit"),
	}
	t.Change, _ = strconv.Atoi(strings.TrimPrefix(q.text("change"), "#"))
	if t.Into == schedule.DefaultBase || t.Branch == "" {
		t.Into = ""
	}
	if t.ControlPlane == "" {
		var all []string
		for _, standing := range s.Observer.Standings() {
			if t.Environment == "" || standing.Environment == t.Environment {
				all = append(all, standing.ControlPlane)
			}
		}
		if all = sorted(all); len(all) == 1 {
			t.ControlPlane = all[0]
		}
	}
	return t
}

var (
	planHash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	// notInBranches is what Git allows in no name of a branch, and what means something else than a name to it.
	notInBranches = regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^[-/.]|/$|//|\.lock$`)
)

// checkTrial refuses what makes no sense before anything is read. Only control planes of this server are asked about.
func checkTrial(q *question, view *planPage) error {
	t := view.Question
	what := 0
	for _, name := range []string{"change", "branch", "commit"} {
		if q.text(name) != "" {
			what++
		}
	}
	switch {
	case len(view.ControlPlanes) == 0:
		return &noTrial{"no environments are known yet, so that there is nothing to plan", "Ask again when this server has looked at a control plane."}
	case t.ControlPlane == "" && view.has(t.Environment):
		return &noTrial{"there are several control planes", "Choose one: " + listed(view.ControlPlanes) + "."}
	case t.ControlPlane != "" && !slices.Contains(view.ControlPlanes, t.ControlPlane):
		return &noTrial{fmt.Sprintf("%q is no control plane of this server", t.ControlPlane), "It has " + listed(view.ControlPlanes) + "."}
	case !view.has(t.Environment):
		return &noTrial{fmt.Sprintf("there is no environment %q", t.Environment), "There are " + listed(view.own) + "."}
	case what > 1:
		return &noTrial{"that asks about several things at once", "Ask about a pull request, a branch or a commit."}
	case q.text("change") != "" && t.Change < 1:
		return &noTrial{fmt.Sprintf("%q is no number of a pull request", q.text("change")), "Write it as 12 or #12."}
	case notInBranches.MatchString(t.Branch):
		return &noTrial{fmt.Sprintf("%q is no name of a branch", t.Branch), "Write it as Git has it."}
	case notInBranches.MatchString(t.Into):
		return &noTrial{fmt.Sprintf("%q is no name of a branch", t.Into), "Write it as Git has it."}
	case t.Commit != "" && !planHash.MatchString(t.Commit):
		return &noTrial{fmt.Sprintf("%q is no commit", t.Commit), "Write its hash, or at least the first seven digits of it."}
	}
	return nil
}

// has reports whether an environment may be asked about. Empty stands for all.
func (p *planPage) has(environment string) bool {
	return environment == "" || slices.Contains(p.own, environment)
}

// maxListed bounds how many names an error lists.
const maxListed = 12

// listed are names in a sentence.
func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// noTrial is a question that makes no sense: what is wrong with it, and what to do.
type noTrial struct{ what, next string }

func (e *noTrial) Error() string { return e.what }

func sorted(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// aboutTrial names a question.
func aboutTrial(t schedule.Trial) string {
	in := ""
	if t.Environment != "" {
		in = " in " + t.Environment
	}
	switch {
	case t.Change != 0:
		return fmt.Sprintf("Pull request #%d%s", t.Change, in)
	case t.Branch != "" && t.Into != "":
		return fmt.Sprintf("Branch %s into %s%s", t.Branch, t.Into, in)
	case t.Branch != "":
		return fmt.Sprintf("Branch %s%s", t.Branch, in)
	case t.Commit != "":
		return fmt.Sprintf("Commit %s%s", short(t.Commit), in)
	}
	return "What is pending" + in
}

// PlanAddress is where a plan is shown.
func PlanAddress(t schedule.Trial) string {
	values := url.Values{"controlPlane": {t.ControlPlane}}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("environment", t.Environment)
	set("branch", t.Branch)
	set("into", t.Into)
	set("commit", t.Commit)
	if t.Change != 0 {
		values.Set("change", strconv.Itoa(t.Change))
	}
	return "/plan?" + values.Encode()
}

func (s *site) planView(t schedule.Trial, change *forge.PullRequest, p trial.Plan) planView {
	words := []string{"plan", "-e", p.Environment, "--control-plane", secret.Redact(t.ControlPlane)}
	if change != nil && change.Head.Fork == "" {
		t.Branch, t.Into = change.Head.Branch, change.Base.Branch
	}
	switch {
	case t.Branch == p.Environment, change != nil && change.Head.Fork != "":
	case t.Branch != "":
		words = append(words, "--branch", t.Branch)
		if t.Into != "" && t.Into != schedule.DefaultBase {
			words = append(words, "--into", t.Into)
		}
	case t.Commit != "":
		words = append(words, "--commit", t.Commit)
	}
	return planView{
		Plan: p, Command: commandLine(words...),
		Address: "/environments/" + url.PathEscape(p.Environment) + "?controlPlane=" + url.QueryEscape(t.ControlPlane),
	}
}

// planError is why something cannot be planned. What it says is written for people.
type planError struct{ err error }

func (e *planError) Error() string { return e.err.Error() }
func (e *planError) Unwrap() error { return e.err }

// unplanned says a planError to people, with what to do next.
func unplanned(err error) failure {
	f := failure{Status: http.StatusUnprocessableEntity, What: sentence(err.Error()), Next: "Mend what it says, and ask again."}
	var senseless *noTrial
	switch {
	case errors.As(err, &senseless):
		f.Status, f.Next = http.StatusBadRequest, sentence(senseless.next)
	case errors.Is(err, trial.ErrBusy):
		f.Status, f.Next, f.retryAfter = http.StatusServiceUnavailable, "Ask again in a moment.", planAgain
	case errors.Is(err, schedule.ErrTrial):
		f.Status, f.Next = http.StatusBadRequest, "Correct the question, and ask again."
	case errors.Is(err, schedule.ErrFork):
		f.Status, f.Next = http.StatusForbidden, "Push the branch to the control plane itself, or ask whoever keeps the server to allow it."
	case errors.Is(err, schedule.ErrNoBranch): // where the server reads it from is nobody's business
		f.Status, f.What, f.Next = http.StatusNotFound, "The control plane has no such branch.", "Look at how it is written, and whether it was pushed."
	case errors.Is(err, forge.ErrNotFound):
		f.Status, f.What, f.Next = http.StatusNotFound, "The control plane has no such pull request.", "Look at its number."
	case errors.Is(err, forge.ErrUnavailable), errors.Is(err, forge.ErrRateLimited), errors.Is(err, context.DeadlineExceeded):
		f.Status, f.Next, f.retryAfter = http.StatusServiceUnavailable, "Ask again in a moment.", time.Minute
	}
	return f
}
