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
	// Kind is the filter for platform or application promotions; empty for all.
	Kind query.PromotionKind
	// Rolling are the environments with rings.
	Rolling []rollingView
	// Rows are the commits, and Columns the environments that they were promoted to.
	Rows    []commitRow
	Columns []string
}

func (s *site) promotions(q *pageRequest) (*pageResult, error) {
	moves, err := oneOf(q, "moves", query.PlatformPromotion, query.ApplicationPromotion)
	if err != nil {
		return nil, err
	}
	known, err := s.environmentNames(q)
	if err != nil {
		return nil, err
	}
	environment := q.text("environment")
	page, err := q.observer.Promotions(q.Context(), query.PromotionsQuery{Environment: environment, Kind: moves, Paging: q.paging(query.DefaultLimit)})
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 && environment != "" && !slices.Contains(known, environment) {
		return nil, query.Unknown("environment", environment, known)
	}
	var rolling []rollingView
	if moves != query.ApplicationPromotion {
		rolling = s.rolling(q, environment)
	}
	view := promotionsPage{Page: page, Environment: environment, Kind: moves, Environments: known, Next: q.next(page.Next), Rolling: rolling}
	view.Rows, view.Columns = s.commitRows(q, page.Items, s.inChain(q, known))
	return &pageResult{
		title: "Promotions", value: page, command: s.command("promote"), concerns: []string{operations("promotions/"), operations("environments/")}, view: view,
	}, nil
}

// inChain returns the names of environments in the order of promotion, as far as it is known, and then the others.
func (s *site) inChain(q *pageRequest, known []string) []string {
	var names []string
	for _, standing := range q.observer.Standings() {
		if slices.Contains(known, standing.Environment) && !slices.Contains(names, standing.Environment) {
			names = append(names, standing.Environment)
		}
	}
	for _, name := range known {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// promotionPage is the promotion of one commit.
type promotionPage struct {
	query.PromotionDetail
	Stages []stageView
	// Strip has the figures of the commit, and Journey its way; nil if nothing happened yet.
	Strip   []figure
	Journey *journey
	// Evidence is what speaks for and against the commit, and who did what, the newest first; Earlier is what the
	// page folds.
	Evidence, Earlier []evidenceView
}

// stageView is the promotion of the commit to one environment.
type stageView struct {
	query.PromotionStage
	State any
	Gate  *gateView
	Rings []ringView
	Steps []stepView
	// Rollout draws when clusters started to run it; nil if unknown.
	Rollout *chart
	// Took is the time from start to deployment; empty until it is deployed.
	Took string
	// Why is the reason without the causes that the gate lists.
	Why string
	// ControlPlane is the control plane that this server promotes; empty if the page offers no actions.
	ControlPlane string
	// Paused reports that the environment is paused, Approvable that a pull request waits for approval.
	Paused, Approvable bool
	// Preview is the address of the commit's plan; empty if it is deployed already, or without previews.
	Preview string
	// Shown counts the steps that posted a commit status, which the page leaves out.
	Shown int
}

// stepView is a step with its decoded details.
type stepView struct {
	ledger.Step
	promote.Detail
	// Ring is the ring, or batch of one, whose step it is; empty for a step of the environment.
	Ring string
	// Passed is the time since the previous step; empty for the first, and below a second.
	Passed string
}

func (s *site) promotion(q *pageRequest) (*pageResult, error) {
	detail, err := q.observer.Promotion(q.Context(), query.PromotionQuery{Commit: q.PathValue("commit"), Subject: q.text("subject")})
	if err != nil {
		return nil, err
	}
	view := promotionPage{PromotionDetail: detail, Journey: journeyOf(detail.Stages, q.now), Strip: commitStrip(detail.Stages)}
	view.Evidence = evidenceOf(detail.Stages)
	if n := len(view.Evidence); n > maxSteps {
		view.Evidence, view.Earlier = view.Evidence[:maxSteps], view.Evidence[maxSteps:]
	}
	for _, stage := range detail.Stages {
		v := stageOf(stage, detail.Commit)
		if stage.Current && v.Gate != nil && v.Gate.Published == "" {
			if v.Rollout, err = s.rollout(q, stage); err != nil {
				return nil, err
			}
		}
		s.addActions(q, &v, &detail)
		v.Rings = ringsOf(q, v.Environment, v.ControlPlane, stage.Rings)
		view.Stages = append(view.Stages, v)
	}
	return &pageResult{
		title: short(detail.Commit) + " " + line(detail.Title), value: detail, view: view, command: s.promotionCommand(detail),
		concerns: []string{operations("promotions/" + detail.Commit), operations("environments/"), operations("clusters/")},
	}, nil
}

// addActions sets the actions that an operator has for a commit in an environment.
func (s *site) addActions(q *pageRequest, v *stageView, d *query.PromotionDetail) {
	for _, standing := range q.observer.Standings() {
		if ledger.CleanRepository(standing.ControlPlane) != ledger.CleanRepository(d.Subject) || standing.Environment != v.Environment {
			continue
		}
		v.ControlPlane = standing.ControlPlane
		if p := standing.Promotion; p != nil {
			v.Paused = p.Pause != nil
			v.Approvable = slices.ContainsFunc(p.Proposals, func(o promote.Proposal) bool { return o.State == decide.ProposalOpen && o.Commit == d.Commit })
		}
		if scheduled := standing.Scheduling; v.Current && scheduled != nil && scheduled.Outcome != nil && scheduled.Outcome.PullRequest != nil {
			v.Approvable = true
		}
		if s.Trials != nil && v.Deployed.IsZero() {
			v.Preview = PlanAddress(schedule.PlanRequest{ControlPlane: standing.ControlPlane, Environment: v.Environment, Commit: d.Commit})
		}
	}
}

// promotionCommand returns the command that waits for the commit, if it is being promoted.
func (s *site) promotionCommand(d query.PromotionDetail) string {
	for i := len(d.Stages) - 1; i >= 0; i-- {
		if d.Stages[i].Current {
			return s.command("wait", "-e", d.Stages[i].Environment, "--commit", d.Commit)
		}
	}
	return s.command("promote")
}

// maxSteps limits the evidence that is not folded.
const maxSteps = 12

func stageOf(stage query.PromotionStage, commit string) stageView {
	v := stageView{PromotionStage: stage, Gate: gateOf(stage.Gate, commit, decide.State(stage.Phase)), State: stageState(stage)}
	v.Why = withoutCauses(stage.Reason, stage.Gate)
	if !stage.Started.IsZero() && stage.Deployed.After(stage.Started) {
		v.Took = duration(stage.Deployed.Sub(stage.Started))
	}
	var last time.Time
	for _, step := range stage.Steps {
		if step.Kind == string(promote.StatusPosted) {
			v.Shown++
			continue
		}
		one := stepOf(step)
		if passed := step.At.Sub(last); !last.IsZero() && passed >= time.Second {
			one.Passed = duration(passed)
		}
		last = step.At
		v.Steps = append(v.Steps, one)
	}
	return v
}

func stepOf(step ledger.Step) stepView {
	v := stepView{Step: step}
	_, v.Ring = decide.SplitRing(step.Environment)
	_ = json.Unmarshal(step.Detail, &v.Detail) // unknown details are not shown
	return v
}

// stageState returns the most important state of a commit in an environment.
func stageState(stage query.PromotionStage) any {
	switch {
	case stage.Phase != "" && stage.Current:
		return stage.Phase
	case stage.Candidate:
		return "candidate"
	case !stage.Failed.IsZero() && stage.Failed.After(stage.Deployed):
		return "failed"
	case !stage.Deployed.IsZero():
		return "deployed"
	case !stage.Started.IsZero():
		return "started"
	}
	return "notYet"
}

// maxRollout limits the reconcilers in a chart.
const maxRollout = 3000

// rollout draws when the clusters of an environment started to run the commit of its gate.
func (s *site) rollout(q *pageRequest, stage query.PromotionStage) (*chart, error) {
	reconcilers := query.ReconcilersQuery{Environment: stage.Environment, State: ledger.StateReady, Paging: query.Paging{Limit: query.MaxLimit}}
	var arrived []time.Time
	for seen := 0; seen < maxRollout; {
		page, err := q.observer.Reconcilers(q.Context(), reconcilers)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			if r.Revision == stage.Gate.Commit {
				arrived = append(arrived, r.Since)
			}
		}
		seen += len(page.Items)
		if reconcilers.After = page.Next; page.Next == "" {
			break
		}
	}
	expected := stage.Gate.Counts.Counted
	until := q.now
	if len(arrived) > 0 && len(arrived) >= expected {
		until = slices.MaxFunc(arrived, time.Time.Compare).Add(time.Minute)
	}
	label := fmt.Sprintf("Clusters that run it: %d of %d", len(arrived), expected)
	return convergence(label, arrived, stage.Started, until, expected), nil
}
