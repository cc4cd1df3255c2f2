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
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/natural"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// planPage previews a pull request, branch or commit.
type planPage struct {
	ControlPlanes []string
	Environments  []string
	// own are the environments of the selected control plane.
	own []string
	// Open are the open pull requests, if nothing is planned.
	Open []openList
	// Question is what to plan; Requested reports that the address has it.
	Question  schedule.PlanRequest
	Requested bool
	// Title names what is planned.
	Title string
	// Failed is the error; nil for none.
	Failed *failure
	// Pending reports that planning is in progress.
	Pending *trial.Pending
	// Change is the pull request, optional; At is when it was planned.
	Change *forge.PullRequest
	At     time.Time
	Plans  []planView
}

// planView is the plan of an environment.
type planView struct {
	trial.Plan
	// Address is the environment's page, Command the equivalent command line.
	Address, Command string
}

// planAnswer is the page as JSON. Without parameters it lists what can be planned.
type planAnswer struct {
	ControlPlanes []string `json:"controlPlanes"`
	Environments  []string `json:"environments"`
	// PullRequests are the open ones of each repository that a round has listed, if nothing is planned.
	PullRequests []openList                 `json:"pullRequests,omitempty"`
	Plans        []schedule.Report          `json:"plans,omitempty"`
	Problems     map[string][]fleet.Problem `json:"problems,omitempty"`
	Planned      time.Time                  `json:"planned,omitzero"`
	// Pending reports that planning is in progress; request the page again.
	Pending *pendingAnswer `json:"pending,omitempty"`
}

type pendingAnswer struct {
	Since time.Time `json:"since"`
	Waits bool      `json:"waits,omitempty"`
}

// planAgain is when a browser reloads a page whose plan is in progress.
const planAgain = 2 * time.Second

func (s *site) plan(q *pageRequest) (*pageResult, error) {
	view := planPage{Question: s.planRequest(q), ControlPlanes: []string{}, Environments: []string{}}
	for _, standing := range s.Observer.Standings() {
		view.ControlPlanes = append(view.ControlPlanes, standing.ControlPlane)
		view.Environments = append(view.Environments, standing.Environment)
		if chosen := view.Question.ControlPlane; chosen == "" || chosen == standing.ControlPlane {
			view.own = append(view.own, standing.Environment)
		}
	}
	view.ControlPlanes, view.Environments, view.own = sorted(view.ControlPlanes), sorted(view.Environments), sorted(view.own)
	value := planAnswer{ControlPlanes: view.ControlPlanes, Environments: view.Environments}
	a := &pageResult{title: "Plan a change"}
	view.Requested = slices.ContainsFunc([]string{"change", "branch", "commit", "environment"}, func(name string) bool { return q.text(name) != "" })
	if view.Requested {
		view.Title = planTitle(view.Question)
		a.title = view.Title
		s.runPlan(q, &view, &value, a)
	} else {
		view.Open = s.openPullRequests()
		value.PullRequests = view.Open
	}
	a.value, a.view = value, view
	return a, nil
}

// openPullRequests returns the open pull requests, with the addresses of their plans.
func (s *site) openPullRequests() []openList {
	lists := s.Open.all()
	for n, l := range lists {
		lists[n].Repository = secret.Redact(l.Repository)
		for i := range l.Items {
			if l.ControlPlane && s.Trials != nil {
				l.Items[i].Plan = PlanAddress(schedule.PlanRequest{ControlPlane: l.Repository, Change: l.Items[i].Number})
			}
		}
	}
	return lists
}

// runPlan requests the plan and puts the result into the page.
func (s *site) runPlan(q *pageRequest, view *planPage, value *planAnswer, a *pageResult) {
	found, err := s.requestPlan(q, view)
	var pending *trial.Pending
	switch {
	case errors.As(err, &pending):
		view.Pending, a.again, a.status = pending, planAgain, http.StatusAccepted
		value.Pending = &pendingAnswer{Since: pending.Since.UTC(), Waits: pending.Queued}
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
		value.Planned = found.At.UTC()
		for _, d := range found.Drafts {
			value.Plans = append(value.Plans, d.Report())
			if len(d.NewProblems) > 0 {
				if value.Problems == nil {
					value.Problems = map[string][]fleet.Problem{}
				}
				value.Problems[d.Plan.Environment] = d.NewProblems
			}
		}
		a.summary = found.Summary()
	}
}

func (s *site) requestPlan(q *pageRequest, view *planPage) (trial.Answer, error) {
	if s.Trials == nil {
		return trial.Answer{}, errNoPage
	}
	if err := checkPlanRequest(q, view); err != nil {
		return trial.Answer{}, &planError{err}
	}
	found, err := s.Trials.Preview(q.Context(), view.Question, q.role.Includes(access.Operator))
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

// planRequest returns what the address asks to plan. The control plane may be left out if the environment determines it.
func (s *site) planRequest(q *pageRequest) schedule.PlanRequest {
	t := schedule.PlanRequest{
		ControlPlane: q.text("controlPlane"), Environment: q.text("environment"),
		Branch: q.text("branch"), Into: q.text("into"), Commit: q.text("commit"), WhatIf: strings.Join(strings.Fields(q.text("whatIf")), " "),
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
	// notInBranches matches what Git does not allow in branch names, or gives another meaning.
	notInBranches = regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^[-/.]|/$|//|\.lock$`)
)

// checkPlanRequest validates a request before anything is read. It must name a control plane of this server.
func checkPlanRequest(q *pageRequest, view *planPage) error {
	t := view.Question
	what := 0
	for _, name := range []string{"change", "branch", "commit", "whatIf"} {
		if q.text(name) != "" {
			what++
		}
	}
	switch {
	case len(view.ControlPlanes) == 0:
		return &invalidRequest{"there are no environments to plan yet", "Try again after the server has read a control plane."}
	case t.ControlPlane == "" && view.has(t.Environment):
		return &invalidRequest{"this server has several control planes", "Choose one of " + listed(view.ControlPlanes) + "."}
	case t.ControlPlane != "" && !slices.Contains(view.ControlPlanes, t.ControlPlane):
		return &invalidRequest{fmt.Sprintf("this server has no control plane %q", t.ControlPlane), "Choose one of " + listed(view.ControlPlanes) + "."}
	case !view.has(t.Environment):
		return &invalidRequest{fmt.Sprintf("there is no environment %q", t.Environment), "Choose one of " + listed(view.own) + "."}
	case what > 1:
		return &invalidRequest{"pull request, branch, commit and what-if exclude each other", "Choose one of them."}
	case q.text("change") != "" && t.Change < 1:
		return &invalidRequest{fmt.Sprintf("%q is not a pull request number", q.text("change")), "Use a number such as 12 or #12."}
	case notInBranches.MatchString(t.Branch):
		return &invalidRequest{fmt.Sprintf("%q is not a valid branch name", t.Branch), "Use the name that Git shows."}
	case notInBranches.MatchString(t.Into):
		return &invalidRequest{fmt.Sprintf("%q is not a valid branch name", t.Into), "Use the name that Git shows."}
	case t.Commit != "" && !planHash.MatchString(t.Commit):
		return &invalidRequest{fmt.Sprintf("%q is not a commit hash", t.Commit), "Use a hash, or at least its first seven digits."}
	}
	return nil
}

// has reports whether the selected control plane has an environment. Empty stands for all.
func (p *planPage) has(environment string) bool {
	return environment == "" || slices.Contains(p.own, environment)
}

// maxListed limits the names in an error.
const maxListed = 12

// listed joins names for an error.
func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// invalidRequest reports an invalid parameter and what to do.
type invalidRequest struct{ what, next string }

func (e *invalidRequest) Error() string { return e.what }

func sorted(all []string) []string {
	return slices.Compact(natural.Sort(all))
}

// planTitle names what is planned.
func planTitle(t schedule.PlanRequest) string {
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
	case t.WhatIf != "":
		return "What if" + in
	}
	return "Pending changes" + in
}

// PlanAddress returns the address of a plan's page.
func PlanAddress(t schedule.PlanRequest) string {
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
	set("whatIf", t.WhatIf)
	if t.Change != 0 {
		values.Set("change", strconv.Itoa(t.Change))
	}
	return "/plan?" + values.Encode()
}

func (s *site) planView(t schedule.PlanRequest, change *forge.PullRequest, p trial.Plan) planView {
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
	for _, change := range strings.Fields(t.WhatIf) {
		words = append(words, "--what-if", change)
	}
	return planView{
		Plan: p, Command: CommandLine(words...),
		Address: "/environments/" + url.PathEscape(p.Environment) + "?controlPlane=" + url.QueryEscape(t.ControlPlane),
	}
}

// planError is an error of planning. Its text is safe to show to users.
type planError struct{ err error }

func (e *planError) Error() string { return e.err.Error() }
func (e *planError) Unwrap() error { return e.err }

// planFailure describes a planError to users.
func planFailure(err error) failure {
	f := failure{Status: http.StatusUnprocessableEntity, What: sentence(err.Error()), Next: "Fix the problem and try again."}
	var senseless *invalidRequest
	switch {
	case errors.As(err, &senseless):
		f.Status, f.Next = http.StatusBadRequest, sentence(senseless.next)
	case errors.Is(err, trial.ErrBusy):
		f.Status, f.Next, f.retryAfter = http.StatusServiceUnavailable, "Try again in a moment.", planAgain
	case errors.Is(err, schedule.ErrInvalidPlan):
		f.Status, f.Next = http.StatusBadRequest, "Correct the input and try again."
	case errors.Is(err, schedule.ErrFork):
		f.Status, f.Next = http.StatusForbidden, "Push the branch to the control plane itself, or ask your administrator to allow forks."
	case errors.Is(err, schedule.ErrNoBranch): // hides the address that the server reads from
		f.Status, f.What, f.Next = http.StatusNotFound, "The control plane has no such branch.", "Check the name, and that the branch was pushed."
	case errors.Is(err, forge.ErrNotFound):
		f.Status, f.What, f.Next = http.StatusNotFound, "The control plane has no such pull request.", "Check the number."
	case errors.Is(err, forge.ErrUnavailable), errors.Is(err, forge.ErrRateLimited), errors.Is(err, context.DeadlineExceeded):
		f.Status, f.Next, f.retryAfter = http.StatusServiceUnavailable, "Try again in a moment.", time.Minute
	}
	return f
}
