package action

import (
	"cmp"
	"errors"
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
	// Action is as the API calls it, and Verb as people do; Does says what it does.
	Action, Verb, Does string
	// NeedsCommit says that the action is about a commit, and Commit which one was chosen; empty while none is.
	NeedsCommit bool
	Commit      string
	// Choices are commits to choose from, the most likely first.
	Choices []choice
	// Chosen is what is known of the commit; nil when it was nowhere promoted yet.
	Chosen *query.PromotionDetail
	// Waits are what it will have to wait for.
	Waits []string
	// Between is how the environment that runs the commit differs from this one; nil where that is not known.
	Between *query.Comparison
	// Open is the change that an approval is about; nil where none is open.
	Open *open
	// Planned is what it will do; PlanAddress is where that is shown, and PlanNote why it is not shown here.
	Planned               []trial.Plan
	PlanAddress, PlanNote string
	// Why is the reason that was given, and Note what is wrong.
	Why, Note string
	// Form is the token of the form, and Back where the environment is.
	Form, Back string
}

// choice is a commit to choose.
type choice struct {
	Commit string
	// About says why it is offered.
	About string
	At    time.Time
}

// verbs are what people call the actions, and what these do.
var verbs = map[string]struct{ verb, does string }{
	"promote": {"Promote to", "The commit is the next to enter. All rules of the environment hold for it as well: gates, windows, approval. It replaces an earlier order."},
	"pause":   {"Pause", "Nothing enters until it is resumed. What is rolled out there already goes on."},
	"resume":  {"Resume", "The pause ends, and what waits may enter by the rules."},
	"approve": {"Approve a pull request of", "It is merged, at the commit that is shown here and no other. What follows from it happens by the rules of the environment."},
	"abort":   {"Give up a commit in", "The commit does not enter, nor go on from there. Clusters keep what they run. Promoting it again lifts that."},
	"rollback": {"Roll back", "The environment goes back to a commit that it ran before. That is ordered like any other commit, and clusters follow when its " +
		"pull request is merged."},
}

// hash is what the API takes for a commit.
var hash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// maxWhy bounds a reason, in bytes.
const maxWhy = 500

// confirmation gathers what somebody should know before. given is what the address or the form says.
func (s *service) confirmation(r *request, given url.Values) (*view, error) {
	standing, err := s.choose(r.name, given.Get("controlPlane"))
	if err != nil {
		return nil, err
	}
	detail, err := s.Pages.Observer.Environment(r.Context(), query.EnvironmentQuery{Name: standing.Environment, ControlPlane: standing.ControlPlane})
	if err != nil {
		return nil, err
	}
	why := strings.TrimSpace(given.Get("why"))
	v := &view{
		Environment: detail, Action: r.action, Verb: verbs[r.action].verb, Does: verbs[r.action].does, Why: strings.ToValidUTF8(why[:min(len(why), maxWhy)], ""),
		NeedsCommit: r.action != "pause" && r.action != "resume" && r.action != "approve",
		Back:        "/environments/" + url.PathEscape(detail.Name) + "?controlPlane=" + url.QueryEscape(detail.ControlPlane),
	}
	if r.action == "approve" {
		if v.Open, err = s.open(r.Context(), &v.Environment, given); err != nil {
			v.Note = "The forge does not say how it stands: " + sentence(secret.Line(secret.Redact(err.Error())))
		}
		return v, nil
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
		v.Note = "That is no commit: write its hash, or at least the first seven digits of it."
	case len(v.Choices) > 0 && r.action != "promote":
		v.Commit = v.Choices[0].Commit
	}
	return v, s.describe(r, v)
}

// describe says what is known of the chosen commit.
func (s *service) describe(r *request, v *view) error {
	if v.Commit == "" {
		return nil
	}
	chosen, err := s.Pages.Observer.Promotion(r.Context(), query.PromotionQuery{Commit: v.Commit, Subject: v.Environment.ControlPlane})
	switch {
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrInvalid): // the API says what is wrong with it
		return nil
	case err != nil:
		return err
	}
	v.Chosen, v.Commit = &chosen, chosen.Commit
	if v.Action == "abort" {
		return nil
	}
	v.Waits = waits(&v.Environment, &chosen)
	for _, stage := range chosen.Stages {
		if stage.Current && stage.Environment != v.Environment.Name {
			between, err := s.Pages.Observer.Compare(r.Context(), query.CompareQuery{A: stage.Environment, B: v.Environment.Name})
			if err != nil {
				return err
			}
			v.Between = &between
		}
	}
	return nil
}

// plan adds what it will do, or where that is said when it takes a while.
func (s *service) plan(r *request, v *view) {
	question, ok := v.tries()
	if !ok || s.Pages.Trials == nil {
		return
	}
	v.PlanAddress = web.PlanAddress(question)
	found, err := s.Pages.Trials.Ask(r.Context(), question, true)
	var pending *trial.Pending
	switch {
	case errors.As(err, &pending):
		v.PlanNote = "It is still being planned."
	case err != nil:
		v.PlanNote = "It cannot be planned at the moment."
	default:
		v.Planned = found.Plans
	}
}

// waits are what a commit has to wait for before it enters, as far as that is known before it is ordered.
func waits(e *query.EnvironmentDetail, p *query.PromotionDetail) []string {
	var all []string
	if e.Paused != nil {
		all = append(all, "until "+e.Name+" is resumed, which "+e.Paused.By+" paused")
	}
	for _, before := range e.After {
		arrived := slices.ContainsFunc(p.Stages, func(s query.PromotionStage) bool {
			return s.Environment == before && !s.Arrived.IsZero()
		})
		if !arrived {
			all = append(all, "until it runs in "+before)
		}
	}
	if rules := e.Rules; rules != nil {
		if len(rules.Windows) > 0 {
			all = append(all, "for a window of "+e.Name)
		}
		if len(rules.Freezes) > 0 {
			all = append(all, "while "+e.Name+" is frozen")
		}
	}
	if e.Commit != "" && e.Phase != decide.Deployed && e.Commit != p.Commit {
		all = append(all, "until what is rolled out there now has ended")
	}
	return all
}

// choices are the commits that an action may be about.
func (s *service) choices(r *request, v *view) ([]choice, error) {
	e := &v.Environment
	switch r.action {
	case "abort":
		var all []choice
		if e.Candidate != "" {
			all = append(all, choice{Commit: e.Candidate, About: "the next to enter"})
		}
		if e.Commit != "" {
			all = append(all, choice{Commit: e.Commit, About: "what is there", At: e.Since})
		}
		return all, nil
	case "rollback":
		return s.earlier(r, v)
	}
	var all []choice
	for _, before := range e.After {
		for _, standing := range s.Pages.Observer.Standings() {
			p := standing.Promotion
			if standing.ControlPlane == e.ControlPlane && standing.Environment == before && p != nil && p.Commit != "" && p.Commit != e.Commit {
				all = append(all, choice{Commit: p.Commit, About: "what is in " + before, At: p.Since})
			}
		}
	}
	if e.Candidate != "" && !slices.ContainsFunc(all, func(c choice) bool { return c.Commit == e.Candidate }) {
		all = append(all, choice{Commit: e.Candidate, About: "the next to enter"})
	}
	return all, nil
}

// maxEarlier bounds how many commits to go back to are offered.
const maxEarlier = 10

// earlier are the commits that arrived in the environment before the present one and did not fail since, the last first.
func (s *service) earlier(r *request, v *view) ([]choice, error) {
	page, err := s.Pages.Observer.Promotions(r.Context(), query.PromotionsQuery{
		Subject: v.Environment.ControlPlane, Environment: v.Environment.Name, Paging: query.Paging{Limit: query.MaxLimit},
	})
	if err != nil {
		return nil, err
	}
	var all []choice
	for _, p := range page.Items {
		if p.Commit == v.Environment.Commit || len(all) == maxEarlier {
			continue
		}
		way, err := s.Pages.Observer.Promotion(r.Context(), query.PromotionQuery{Commit: p.Commit, Subject: p.Subject})
		if err != nil {
			return nil, err
		}
		for _, stage := range way.Stages {
			if stage.Environment == v.Environment.Name && !stage.Arrived.IsZero() && !stage.Failed.After(stage.Arrived) {
				all = append(all, choice{Commit: p.Commit, About: cmp.Or(way.Title, "ran well"), At: stage.Arrived})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int { return b.At.Compare(a.At) })
	return all, nil
}

// done says what was done, for the page of the environment.
func (v *view) done(a *api.Accepted) string {
	short := a.Commit[:min(len(a.Commit), 7)]
	switch v.Action {
	case "pause":
		return a.Environment + " is paused. Nothing enters until it is resumed."
	case "resume":
		return a.Environment + " is resumed."
	case "abort":
		return short + " is given up in " + a.Environment + "."
	case "rollback":
		return a.Environment + " goes back to " + short + ". The next round heeds it."
	}
	return short + " is the next to enter " + a.Environment + ". The next round heeds it."
}
