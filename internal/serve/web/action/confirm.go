package action

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// view is the page on which an action is confirmed.
type view struct {
	Environment query.EnvironmentDetail
	// Ring is the ring that the action is about; nil for an action about the environment. Place is the name of either.
	Ring  *query.Ring
	Place string
	// Action is the API's name, Verb the heading, Effect the description.
	Action, Verb, Effect string
	// NeedsCommit reports that the action needs a commit. Commit is the selected one; empty for none.
	NeedsCommit bool
	Commit      string
	// Choices are commits to choose from, the most likely first.
	Choices []choice
	// Chosen is the commit's promotion; nil if it was never promoted.
	Chosen *query.PromotionDetail
	// Waits lists what the commit will wait for.
	Waits []string
	// Difference compares the environment that runs the commit with this one; nil if unknown.
	Difference *query.Comparison
	// Check is the verification that the action is about; nil for other actions, and for an unknown one.
	Check *decide.CheckProgress
	// Open is the pull request to merge; nil if none is open.
	Open *openPullRequest
	// Planned is the preview, PlanAddress its page, and PlanNote why there is no preview.
	Planned               []trial.Plan
	PlanAddress, PlanNote string
	// Reason is what the user entered, Note an error.
	Reason, Note string
	// Form is the form's token, Back the environment's page.
	Form, Back string
}

// choice is a commit to choose from.
type choice struct {
	Commit string
	// About says why it is offered.
	About string
	At    time.Time
}

// verbs has the heading and the description of each action.
var verbs = map[string]struct{ verb, does string }{
	"promote": {"Promote to", "The commit is promoted next. The environment's rules apply: gates, windows, approval. This replaces an earlier request."},
	"pause":   {"Pause", "No promotion starts until the environment is resumed. A rollout that has started continues."},
	"resume":  {"Resume", "The pause ends. Waiting commits are promoted by the environment's rules."},
	"merge":   {"Merge a pull request for", "Kalypso merges it at the commit shown here. The environment's rules decide what happens next."},
	"approve": {"Approve a commit in", "The commit continues when enough users have approved it. Your name is shown with the result."},
	"bypass":  {"Bypass a verification in", "The commit continues without the verification. Your name and the reason are shown for ever, with the result and in the history."},
	"abort":   {"Abort a commit in", "The commit is not promoted to or beyond this environment. Clusters keep what they run. To undo this, promote the commit again."},
	"skip":    {"Skip", "Later rings do not wait until the commit has run in this ring. Its clusters are still updated. To undo this, promote the commit to the ring again."},
	"rollback": {"Roll back", "The environment returns to a commit that it ran before. Clusters follow when the " +
		"pull request is merged."},
}

// hash matches what the API accepts as a commit.
var hash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// maxReason limits a reason, in bytes.
const maxReason = 500

// confirmation returns the page for an action. given has the parameters of the address or the form.
func (s *service) confirmation(r *request, given url.Values) (*view, error) {
	standing, err := s.Pages.Observer.Standing(r.name, given.Get("controlPlane"))
	if err != nil {
		return nil, err
	}
	detail, err := s.Pages.Observer.Environment(r.Context(), query.EnvironmentQuery{Name: standing.Environment, ControlPlane: standing.ControlPlane})
	if err != nil {
		return nil, err
	}
	why := strings.TrimSpace(given.Get("why"))
	v := &view{
		Environment: detail, Action: r.action, Verb: verbs[r.action].verb, Effect: verbs[r.action].does, Reason: strings.ToValidUTF8(why[:min(len(why), maxReason)], ""),
		NeedsCommit: !slices.Contains([]string{"pause", "resume", "merge", "approve", "bypass"}, r.action),
		Back:        "/environments/" + url.PathEscape(detail.Name) + "?controlPlane=" + url.QueryEscape(detail.ControlPlane),
	}
	v.Place = detail.Name
	if ring := given.Get("ring"); ring != "" {
		return v, s.confirmRing(r, v, standing, ring, given)
	}
	if r.action == "skip" {
		return nil, fmt.Errorf("%w: only a ring is skipped: name it", ledger.ErrInvalid)
	}
	if r.action == "merge" {
		if v.Open, err = s.findOpen(r.Context(), &v.Environment, given); err != nil {
			v.Note = "The pull request cannot be read from the forge: " + sentence(secret.Line(secret.Redact(err.Error())))
		}
		return v, nil
	}
	if isAboutCheck(r.action) {
		v.chooseCheck(given.Get("check"), v.Environment.Checks, v.Environment.Commit)
	}
	if !v.NeedsCommit {
		return v, nil
	}
	if v.Choices, err = s.choices(r, v); err != nil {
		return nil, err
	}
	switch named := strings.TrimSpace(given.Get("commit")); {
	case hash.MatchString(named):
		v.Commit = named
	case named != "":
		v.Note = "This is not a commit hash. Enter a hash, or at least its first seven digits."
	case len(v.Choices) > 0 && r.action != "promote":
		v.Commit = v.Choices[0].Commit
	}
	return v, s.describe(r, v)
}

// confirmRing completes the page for an action about a ring, whose commits are those of the GitOps branch.
func (s *service) confirmRing(r *request, v *view, standing query.Standing, name string, given url.Values) error {
	_, batches, err := s.Pages.Observer.Ring(standing.Environment, standing.ControlPlane, name)
	if err != nil {
		return err
	}
	if r.action == "merge" {
		return fmt.Errorf("%w: %s is about the environment, not about a ring", ledger.ErrInvalid, r.action)
	}
	v.Ring, v.Place = &query.RingsOf(batches)[0], decide.RingName(standing.Environment, name)
	if isAboutCheck(r.action) {
		v.chooseCheck(given.Get("check"), v.Ring.Checks, v.Ring.Commit)
	}
	if !v.NeedsCommit {
		return nil
	}
	add := func(commit, about string) {
		if commit != "" && !slices.ContainsFunc(v.Choices, func(c choice) bool { return c.Commit == commit }) {
			v.Choices = append(v.Choices, choice{Commit: commit, About: about})
		}
	}
	if r.action == "rollback" {
		good := s.Pages.Observer.GoodRingCommits(batches)
		for _, commit := range good[:min(len(good), maxEarlier)] {
			add(commit, "deployed successfully")
		}
	} else {
		add(v.Ring.Candidate, "next")
		add(v.Ring.Commit, "current")
		if g := v.Environment.GitOps; g != nil {
			add(g.Commit, "of the environment")
		}
	}
	switch named := strings.TrimSpace(given.Get("commit")); {
	case hash.MatchString(named):
		v.Commit = named
	case named != "":
		v.Note = "This is not a commit hash. Enter a hash, or at least its first seven digits."
	case len(v.Choices) > 0 && r.action != "promote":
		v.Commit = v.Choices[0].Commit
	}
	return nil
}

// chooseCheck selects one of the verifications of a commit.
func (v *view) chooseCheck(name string, checks []decide.CheckProgress, commit string) {
	i := slices.IndexFunc(checks, func(c decide.CheckProgress) bool { return c.Name == name })
	if i < 0 {
		v.Note = "The commit of " + v.Place + " has no such verification."
		return
	}
	v.Check, v.Commit = &checks[i], commit
}

// Seen returns the commit that the page shows as the present one. A form is refused if another one has come since: for a verification in
// a ring, that of the ring, because this is what is approved or bypassed.
func (v *view) Seen() string {
	if v.Ring != nil && isAboutCheck(v.Action) {
		return v.Ring.Commit
	}
	return v.Environment.Commit
}

// describe adds the promotion of the selected commit.
func (s *service) describe(r *request, v *view) error {
	if v.Commit == "" {
		return nil
	}
	chosen, err := s.Pages.Observer.Promotion(r.Context(), query.PromotionQuery{Commit: v.Commit, Subject: v.Environment.ControlPlane})
	switch {
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrInvalid): // the API reports it
		return nil
	case err != nil:
		return err
	}
	v.Chosen, v.Commit = &chosen, chosen.Commit
	if v.Action == "abort" {
		return nil
	}
	v.Waits = pendingConditions(&v.Environment, &chosen)
	for _, stage := range chosen.Stages {
		if stage.Current && stage.Environment != v.Environment.Name {
			between, err := s.Pages.Observer.Compare(r.Context(), query.CompareQuery{A: stage.Environment, B: v.Environment.Name})
			if err != nil {
				return err
			}
			v.Difference = &between
		}
	}
	return nil
}

// plan adds the preview, or why there is none yet.
func (s *service) plan(r *request, v *view) {
	question, ok := v.planRequest()
	if !ok || s.Pages.Trials == nil {
		return
	}
	v.PlanAddress = web.PlanAddress(question)
	found, err := s.Pages.Trials.Preview(r.Context(), question, true)
	var pending *trial.Pending
	switch {
	case errors.As(err, &pending):
		v.PlanNote = "The plan is not ready yet."
	case err != nil:
		v.PlanNote = "The plan is not available at the moment."
	default:
		v.Planned = found.Plans
	}
}

// pendingConditions lists what a commit will wait for, as far as that is known in advance.
func pendingConditions(e *query.EnvironmentDetail, p *query.PromotionDetail) []string {
	var all []string
	if e.Paused != nil {
		all = append(all, "until "+e.Name+" is resumed (paused by "+e.Paused.By+")")
	}
	for _, before := range e.After {
		arrived := slices.ContainsFunc(p.Stages, func(s query.PromotionStage) bool {
			return s.Environment == before && !s.Deployed.IsZero()
		})
		if !arrived {
			all = append(all, "until it is deployed in "+before)
		}
	}
	if rules := e.Rules; rules != nil {
		if len(rules.Windows) > 0 {
			all = append(all, "for a promotion window of "+e.Name)
		}
		if len(rules.Freezes) > 0 {
			all = append(all, "while "+e.Name+" is frozen")
		}
	}
	if e.Commit != "" && !e.Phase.Deployed() && e.Commit != p.Commit {
		all = append(all, "until the current rollout has finished")
	}
	return all
}

// choices returns the commits to choose from.
func (s *service) choices(r *request, v *view) ([]choice, error) {
	e := &v.Environment
	switch r.action {
	case "abort":
		var all []choice
		if e.Candidate != "" {
			all = append(all, choice{Commit: e.Candidate, About: "next"})
		}
		if e.Commit != "" {
			all = append(all, choice{Commit: e.Commit, About: "current", At: e.Since})
		}
		return all, nil
	case "rollback":
		return s.earlierCommits(r, v)
	}
	var all []choice
	for _, before := range e.After {
		for _, standing := range s.Pages.Observer.Standings() {
			p := standing.Promotion
			if standing.ControlPlane == e.ControlPlane && standing.Environment == before && p != nil && p.Commit != "" && p.Commit != e.Commit {
				all = append(all, choice{Commit: p.Commit, About: "deployed in " + before, At: p.Since})
			}
		}
	}
	if e.Candidate != "" && !slices.ContainsFunc(all, func(c choice) bool { return c.Commit == e.Candidate }) {
		all = append(all, choice{Commit: e.Candidate, About: "next"})
	}
	return all, nil
}

// maxEarlier limits the commits that a rollback offers.
const maxEarlier = 10

// earlierCommits returns the commits to which the environment can be rolled back, the latest first.
func (s *service) earlierCommits(r *request, v *view) ([]choice, error) {
	commits, err := s.Pages.Observer.GoodCommits(r.Context(), v.Environment.ControlPlane, v.Environment.Name)
	if err != nil {
		return nil, err
	}
	var all []choice
	for _, commit := range commits[:min(len(commits), maxEarlier)] {
		p, err := s.Pages.Observer.Promotion(r.Context(), query.PromotionQuery{Commit: commit, Subject: v.Environment.ControlPlane})
		if err != nil {
			return nil, err
		}
		c := choice{Commit: commit, About: cmp.Or(p.Title, "deployed successfully")}
		for _, stage := range p.Stages {
			if stage.Environment == v.Environment.Name {
				c.At = stage.Deployed
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// notice returns the message for the environment's page.
func (v *view) notice(a *api.Accepted) string {
	short, place := a.Commit[:min(len(a.Commit), 7)], v.Place
	switch v.Action {
	case "pause":
		return place + " is paused. No promotion starts until it is resumed."
	case "resume":
		return place + " is resumed."
	case "skip":
		return "Later rings do not wait until " + short + " has run in " + place + "."
	case "abort":
		return short + " is aborted in " + place + "."
	case "approve":
		return short + " is approved in " + place + "."
	case "bypass":
		return a.Check + " is bypassed for " + short + " in " + place + "."
	case "rollback":
		return place + " rolls back to " + short + ". This takes effect in a few seconds."
	}
	return short + " is promoted to " + place + " next. This takes effect in a few seconds."
}
