package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// promotionsPage is the list of promotions.
type promotionsPage struct {
	query.Page[query.Promotion]
	Environment  string
	Environments []string
	Next         string
	// Moves restricts them to those of the platform or of applications; empty for all.
	Moves query.Moves
}

func (s *site) promotions(q *question) (*answer, error) {
	moves, err := oneOf(q, "moves", query.MovesPlatform, query.MovesApplication)
	if err != nil {
		return nil, err
	}
	known, err := s.environmentNames(q)
	if err != nil {
		return nil, err
	}
	environment := q.text("environment")
	page, err := s.Observer.Promotions(q.Context(), query.PromotionsQuery{Environment: environment, Moves: moves, Paging: q.paging(query.DefaultLimit)})
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 && environment != "" && !slices.Contains(known, environment) {
		return nil, query.Unknown("environment", environment, known)
	}
	return &answer{
		title: "Promotions", value: page, command: s.command("promote"), concerns: []string{operations("promotions/"), operations("environments/")},
		view: promotionsPage{Page: page, Environment: environment, Moves: moves, Environments: known, Next: q.next(page.Next)},
	}, nil
}

// promotionPage is one commit's way.
type promotionPage struct {
	query.PromotionDetail
	Stages []stageView
}

// stageView is the way through one environment.
type stageView struct {
	query.PromotionStage
	State any
	Gate  *gateView
	// Earlier are the steps before Steps, which only some want to read.
	Earlier, Steps []stepView
	// Rollout draws how clusters came to run it; nil where nothing is known.
	Rollout *chart
	// Took is how long it was from entering to arriving; empty while it is not there.
	Took string
	// ControlPlane is the one along which this server promotes it; empty where people cannot steer it here.
	ControlPlane string
	// Paused says that nothing enters, and Approvable that a pull request waits for somebody to merge it.
	Paused, Approvable bool
	// Preview is where it is said what the commit would do there; empty where nothing plans, and where it was already.
	Preview string
	// Shown is how often the forge was told; those steps only repeat the others.
	Shown int
}

// stepView is a step with what is in its detail.
type stepView struct {
	ledger.Step
	promote.Detail
	// Passed is the time since the step before; empty for the first, and for less than a second.
	Passed string
}

func (s *site) promotion(q *question) (*answer, error) {
	detail, err := s.Observer.Promotion(q.Context(), query.PromotionQuery{Commit: q.PathValue("commit"), Subject: q.text("subject")})
	if err != nil {
		return nil, err
	}
	view := promotionPage{PromotionDetail: detail}
	for _, stage := range detail.Stages {
		v := stageOf(stage, detail.Commit)
		if stage.Current && v.Gate != nil && v.Gate.Published == "" {
			if v.Rollout, err = s.rollout(q, stage); err != nil {
				return nil, err
			}
		}
		s.steer(&v, &detail)
		view.Stages = append(view.Stages, v)
	}
	return &answer{
		title: short(detail.Commit) + " " + line(detail.Title), value: detail, view: view, command: s.promotionCommand(detail),
		concerns: []string{operations("promotions/" + detail.Commit), operations("environments/"), operations("clusters/")},
	}, nil
}

// steer says what people may do about a commit in an environment.
func (s *site) steer(v *stageView, d *query.PromotionDetail) {
	for _, standing := range s.Observer.Standings() {
		if ledger.CleanRepository(standing.ControlPlane) != ledger.CleanRepository(d.Subject) || standing.Environment != v.Environment {
			continue
		}
		v.ControlPlane = standing.ControlPlane
		if p := standing.Promotion; p != nil {
			v.Paused = p.Pause != nil
			v.Approvable = slices.ContainsFunc(p.Proposals, func(o promote.Proposal) bool { return o.State == decide.ProposalOpen && o.Commit == d.Commit })
		}
		if scheduled := standing.Scheduling; v.Current && scheduled != nil && scheduled.Outcome != nil && scheduled.Outcome.Change != nil {
			v.Approvable = true
		}
		if s.Trials != nil && v.Arrived.IsZero() {
			v.Preview = PlanAddress(schedule.Trial{ControlPlane: standing.ControlPlane, Environment: v.Environment, Commit: d.Commit})
		}
	}
}

// promotionCommand waits for the commit where it is on its way.
func (s *site) promotionCommand(d query.PromotionDetail) string {
	for i := len(d.Stages) - 1; i >= 0; i-- {
		if d.Stages[i].Current {
			return s.command("wait", "-e", d.Stages[i].Environment, "--commit", d.Commit)
		}
	}
	return s.command("promote")
}

// maxSteps is how many steps are seen at once.
const maxSteps = 12

func stageOf(stage query.PromotionStage, commit string) stageView {
	v := stageView{PromotionStage: stage, Gate: gateOf(stage.Gate, commit, decide.Phase(stage.Phase)), State: stageState(stage)}
	if !stage.Entered.IsZero() && stage.Arrived.After(stage.Entered) {
		v.Took = lasting(stage.Arrived.Sub(stage.Entered))
	}
	var last time.Time
	for _, step := range stage.Steps {
		if step.Kind == string(promote.Shown) {
			v.Shown++
			continue
		}
		one := stepOf(step)
		if passed := step.At.Sub(last); !last.IsZero() && passed >= time.Second {
			one.Passed = lasting(passed)
		}
		last = step.At
		v.Steps = append(v.Steps, one)
	}
	if n := len(v.Steps); n > maxSteps {
		v.Earlier, v.Steps = v.Steps[:n-maxSteps], v.Steps[n-maxSteps:]
	}
	return v
}

func stepOf(step ledger.Step) stepView {
	v := stepView{Step: step}
	_ = json.Unmarshal(step.Detail, &v.Detail) // what is not understood is not shown
	return v
}

// stageState is the one state that tells most about a commit in an environment.
func stageState(stage query.PromotionStage) any {
	switch {
	case stage.Phase != "" && stage.Current:
		return stage.Phase
	case stage.Candidate:
		return "candidate"
	case !stage.Failed.IsZero() && stage.Failed.After(stage.Arrived):
		return "failed"
	case !stage.Arrived.IsZero():
		return "arrived"
	case !stage.Entered.IsZero():
		return "entered"
	}
	return "notYet"
}

// maxRollout bounds how many reconcilers a rollout is drawn of.
const maxRollout = 3000

// rollout draws how the clusters of an environment came to run the commit of its gate.
func (s *site) rollout(q *question, stage query.PromotionStage) (*chart, error) {
	query := query.ReconcilersQuery{Environment: stage.Environment, State: ledger.StateReady, Paging: query.Paging{Limit: query.MaxLimit}}
	var arrived []time.Time
	for seen := 0; seen < maxRollout; {
		page, err := s.Observer.Reconcilers(q.Context(), query)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			if r.Revision == stage.Gate.Commit {
				arrived = append(arrived, r.Since)
			}
		}
		seen += len(page.Items)
		if query.After = page.Next; page.Next == "" {
			break
		}
	}
	expected := stage.Gate.Counts.Counted
	until := q.now
	if len(arrived) > 0 && len(arrived) >= expected {
		until = slices.MaxFunc(arrived, time.Time.Compare).Add(time.Minute)
	}
	label := fmt.Sprintf("How clusters came to run it: %d of %d", len(arrived), expected)
	return convergence(label, arrived, stage.Entered, until, expected), nil
}
