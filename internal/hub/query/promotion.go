package query

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Promotion is the promotion of a commit to an environment, with its last step.
type Promotion struct {
	// Subject is the URL of a control plane, or of an application's source with "#" and its workload.
	Subject string `json:"subject"`
	// Kind says which of the two it is; Workload is that of an application.
	Kind        PromotionKind `json:"moves"`
	Workload    string        `json:"workload,omitempty"`
	Commit      string        `json:"commit"`
	Environment string        `json:"environment"`
	// Step is the kind of the last step. Commit statuses do not count, because they only repeat the step before.
	Step string `json:"step"`
	// Phase is the phase that began with the step; empty for other steps.
	Phase  decide.State `json:"phase,omitempty"`
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by,omitempty"`
	At     time.Time    `json:"at"`
}

// PromotionDetail is the promotion of a commit through its environments.
type PromotionDetail struct {
	Subject string `json:"subject"`
	// Kind says what the subject is; Workload is that of an application.
	Kind     PromotionKind `json:"moves"`
	Workload string        `json:"workload,omitempty"`
	Commit   string        `json:"commit"`
	// Title is the first line of its message; empty if unknown.
	Title string `json:"title,omitempty"`
	// Stages are its environments in the order of the chain or, if that is unknown, of its first steps.
	Stages []PromotionStage `json:"stages"`
}

// PromotionStage is the promotion of a commit in one environment.
type PromotionStage struct {
	Environment string `json:"environment"`
	// Current means that it is the environment's commit.
	Current bool `json:"current"`
	// Candidate means that it is promoted next.
	Candidate bool `json:"candidate"`
	// Phase and Reason are set while the commit is current or the candidate.
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Gate counts the clusters that run it, while it is current.
	Gate *Gate `json:"gate,omitempty"`
	// Rings are the rings of the environment, while the commit is current and published.
	Rings []Ring `json:"rings,omitempty"`
	// Started, Deployed and Failed are when it was last started, deployed and failed; zero means never.
	Started  time.Time `json:"started,omitzero"`
	Deployed time.Time `json:"deployed,omitzero"`
	Failed   time.Time `json:"failed,omitzero"`
	// Steps are sorted by time; at most the last 500.
	Steps []ledger.Step `json:"steps"`
	// RingSteps are those of its rings and their batches for the manifests that were published last, sorted by
	// time; at most the last 500.
	RingSteps []ledger.Step `json:"ringSteps,omitempty"`
}

// PromotionsQuery selects promotions. Empty fields match all.
type PromotionsQuery struct {
	Subject     string        `query:"subject" maxLength:"2048" doc:"Only promotions of this control plane, or source of an application."`
	Kind        PromotionKind `query:"moves" enum:"platform,application" doc:"Only promotions of control planes, or of applications."`
	Workload    string        `query:"workload" maxLength:"253" doc:"Only promotions of this workload's application."`
	Environment string        `query:"environment" maxLength:"253" doc:"Only promotions to this environment."`
	Commit      string        `query:"commit" maxLength:"64" doc:"Only promotions of this commit: the full hash."`
	From        time.Time     `query:"from" doc:"Only promotions whose last step was at this time or later."`
	To          time.Time     `query:"to" doc:"Only promotions whose last step was before this time."`
	Paging
}

// PromotionQuery identifies a promotion.
type PromotionQuery struct {
	Commit  string `path:"commit" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$" doc:"The hash, or a unique prefix of at least seven digits."` // required
	Subject string `query:"subject" maxLength:"2048" doc:"The control plane, or source of an application; required only if several have such a commit."`
}

// shortest is the minimum length of a commit prefix.
const shortest = 7

// maxSteps limits the steps of a commit.
const maxSteps = 500

// Promotions returns promotions, the one with the newest step first.
func (o *Observer) Promotions(ctx context.Context, q PromotionsQuery) (Page[Promotion], error) {
	if _, err := q.Place(); err != nil {
		return Page[Promotion]{Items: []Promotion{}}, err
	}
	all, err := o.Ledger.Promotions(ctx, ledger.StepQuery{
		Subject: q.Subject, Environment: q.Environment, Commit: q.Commit, From: q.From, To: q.To,
	})
	if err != nil {
		return Page[Promotion]{Items: []Promotion{}}, err
	}
	former, err := o.former(ctx)
	if err != nil {
		return Page[Promotion]{Items: []Promotion{}}, err
	}
	items := []Promotion{}
	for _, s := range all {
		if former[s.Subject] {
			continue
		}
		if p := promotionOf(s); s.Commit != promote.EveryCommit && s.Environment != deliver.Everywhere && !isRing(s) && q.wants(&p) {
			items = append(items, p)
		}
	}
	page, err := cut(items, q.Paging, func(p *Promotion) string { return key(newestFirst(p.At), p.Environment, p.Commit, p.Subject) })
	for i := range page.Items {
		if p := &page.Items[i]; p.Step == string(promote.StatusPosted) {
			if err := o.beforeStatus(ctx, p); err != nil {
				return page, err
			}
		}
	}
	return page, err
}

// beforeStatus replaces a commit status by the step before it. The time stays: pages are sorted by it.
func (o *Observer) beforeStatus(ctx context.Context, p *Promotion) error {
	steps, err := o.Ledger.Steps(ctx, ledger.StepQuery{
		Subject: p.Subject, Environment: p.Environment, Commit: p.Commit, WithoutKind: string(promote.StatusPosted), Limit: 1,
	})
	for _, s := range steps {
		before := promotionOf(s)
		p.Step, p.Phase, p.Reason, p.By = before.Step, before.Phase, before.Reason, before.By
	}
	return err
}

// promotionOf converts the last step of a promotion.
func promotionOf(s ledger.Step) Promotion {
	p := Promotion{
		Subject: s.Subject, Commit: s.Commit, Environment: s.Environment, Step: s.Kind, Reason: s.Reason, By: s.By, At: utc(s.At),
	}
	p.Kind, p.Workload = kindOf(s.Subject)
	var detail promote.Detail
	if s.Kind == string(promote.StateChanged) && json.Unmarshal(s.Detail, &detail) == nil {
		p.Phase = detail.Phase
	}
	return p
}

// isRing reports whether a step is that of a ring, whose commits are those of a GitOps branch.
func isRing(s ledger.Step) bool {
	_, ring := decide.SplitRing(s.Environment)
	return ring != ""
}

// wants reports whether a promotion matches the query.
func (q PromotionsQuery) wants(p *Promotion) bool {
	return (q.Kind == "" || q.Kind == p.Kind) && (q.Workload == "" || q.Workload == p.Workload)
}

// newestFirst returns a part of a key that sorts later times first.
func newestFirst(t time.Time) string {
	text := strconv.FormatInt(1<<62-t.UnixMicro(), 10)
	return strings.Repeat("0", 19-len(text)) + text
}

// Promotion returns the promotion of one commit step by step.
func (o *Observer) Promotion(ctx context.Context, q PromotionQuery) (PromotionDetail, error) {
	id, err := o.promoted(ctx, q)
	if err != nil {
		return PromotionDetail{}, err
	}
	steps, err := o.Ledger.Steps(ctx, ledger.StepQuery{Subject: id.Subject, Commit: id.Commit, Limit: maxSteps})
	if err != nil {
		return PromotionDetail{}, err
	}
	d := PromotionDetail{Subject: id.Subject, Commit: id.Commit, Stages: []PromotionStage{}}
	d.Kind, d.Workload = kindOf(id.Subject)
	stages := map[string]*PromotionStage{}
	var order []string
	stage := func(environment string) *PromotionStage {
		if stages[environment] == nil {
			stages[environment] = &PromotionStage{Environment: environment, Steps: []ledger.Step{}}
			order = append(order, environment)
		}
		return stages[environment]
	}
	for _, s := range o.standings() {
		if s.subject() == id.Subject && s.promotion != nil {
			stage(s.name).addStanding(s.promotion, id.Commit)
			d.Title = cmp.Or(d.Title, titleOf(s.line, id.Commit))
		}
	}
	for _, s := range slices.Backward(steps) {
		if s.Environment != deliver.Everywhere {
			stage(s.Environment).addStep(s)
		}
	}
	for _, environment := range order {
		s := stages[environment]
		if len(s.Steps) == 0 && !s.Current && !s.Candidate && d.Title == "" {
			continue
		}
		if err := o.addRingSteps(ctx, s, id.Subject); err != nil {
			return PromotionDetail{}, err
		}
		d.Stages = append(d.Stages, *s)
	}
	return d, nil
}

// addRingSteps adds the steps of the rings of a stage. Their commits are those of the GitOps branch.
func (o *Observer) addRingSteps(ctx context.Context, s *PromotionStage, subject string) error {
	revision := publishedRevision(s.Steps)
	if len(s.Rings) == 0 || revision == "" {
		return nil
	}
	steps, err := o.Ledger.Steps(ctx, ledger.StepQuery{
		Subject: subject, Environment: s.Environment, Parts: true, Commit: revision, WithoutKind: string(promote.StatusPosted), Limit: maxSteps,
	})
	if err != nil {
		return fmt.Errorf("steps of the rings of %s: %w", s.Environment, err)
	}
	for _, step := range slices.Backward(steps) {
		if isRing(step) {
			s.RingSteps = append(s.RingSteps, step)
		}
	}
	return nil
}

// publishedRevision returns the commit of the GitOps branch that was published last; empty if none is known.
func publishedRevision(steps []ledger.Step) string {
	for _, step := range slices.Backward(steps) {
		var detail promote.Detail
		if step.Kind == string(promote.Published) && json.Unmarshal(step.Detail, &detail) == nil && detail.Revision != "" {
			return detail.Revision
		}
	}
	return ""
}

// GoodCommits returns the commits to which an environment of a control plane can be rolled back, the latest first, as the last round found.
func (o *Observer) GoodCommits(ctx context.Context, controlPlane, environment string) ([]string, error) {
	s, err := o.environment(ctx, controlPlane, environment, time.Time{})
	if err != nil || s.promotion == nil {
		return nil, err
	}
	return goodOf(s.promotion.Targets), nil
}

// goodOf returns the commits of targets that are good.
func goodOf(targets []decide.RollbackTarget) []string {
	var good []string
	for _, t := range targets {
		if t.Good {
			good = append(good, t.Commit)
		}
	}
	return good
}

// addStanding adds the current state of the environment.
func (s *PromotionStage) addStanding(p *promote.Standing, commit string) {
	s.Current, s.Candidate = p.Commit == commit, p.Candidate == commit
	if s.Current || s.Candidate {
		s.Phase, s.Reason = string(p.Phase), p.Reason
	}
	if s.Current && isCurrent(p) {
		s.Gate, s.Rings = gateOf(p.Verdict), RingsOf(p.Rings)
	}
}

// addStep adds a step that is later than all before it.
func (s *PromotionStage) addStep(step ledger.Step) {
	s.Steps = append(s.Steps, step)
	switch decide.StepKind(step.Kind) {
	case decide.StepStarted:
		s.Started = step.At
	case decide.StepDeployed:
		s.Deployed = step.At
	case decide.StepFailed:
		s.Failed = step.At
	}
}

// promoted returns the promotion that a query identifies.
func (o *Observer) promoted(ctx context.Context, q PromotionQuery) (ledger.PromotionID, error) {
	none := ledger.PromotionID{}
	if q.Subject != "" {
		q.Subject = ledger.CleanSubject(q.Subject)
	}
	last, err := o.Ledger.Promotions(ctx, ledger.StepQuery{Subject: q.Subject})
	if err != nil {
		return none, err
	}
	found := map[ledger.PromotionID]bool{}
	var names []string
	add := func(subject, sha string) {
		if sha != promote.EveryCommit && sha != "" && len(q.Commit) >= min(shortest, len(sha)) && strings.HasPrefix(sha, strings.ToLower(q.Commit)) {
			found[ledger.PromotionID{Subject: subject, Commit: sha}] = true
		}
		names = append(names, sha)
	}
	former, err := o.former(ctx)
	if err != nil {
		return none, err
	}
	for _, s := range last {
		if !former[s.Subject] && !isRing(s) {
			add(s.Subject, s.Commit)
		}
	}
	for _, s := range o.standings() {
		if s.promotion == nil || o.Scoped() || q.Subject != "" && s.subject() != q.Subject {
			continue
		}
		add(s.subject(), s.promotion.Commit)
		for _, c := range s.line {
			add(s.subject(), c.SHA)
		}
	}
	return theOne(found, q.Commit, names)
}

// theOne returns the only promotion found, or an error.
func theOne(found map[ledger.PromotionID]bool, commit string, names []string) (ledger.PromotionID, error) {
	switch len(found) {
	case 1:
		for id := range found {
			return id, nil
		}
	case 0:
		if len(commit) < shortest {
			return ledger.PromotionID{}, fmt.Errorf("%w: commit %.40q: give at least %d of its digits", ledger.ErrInvalid, commit, shortest)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == "" || n == promote.EveryCommit })
		return ledger.PromotionID{}, Unknown("promotion of commit", commit, names[:min(len(names), MaxLimit)])
	}
	return ledger.PromotionID{}, ambiguous(commit)
}
