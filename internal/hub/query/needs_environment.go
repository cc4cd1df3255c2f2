package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/natural"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// environment adds the needs of a control plane's environment.
func (s *needs) environment(at *standing) error {
	n := UserNeed{ControlPlane: at.controlPlane, Environments: []string{at.name}}
	if p := at.promotion; p != nil && !s.Scoped() { // the platform's, which a role in workspaces cannot settle
		n.Commit = p.Commit
		s.promotion(n, p)
	}
	if at.scheduled == nil || at.scheduled.Outcome == nil {
		return nil
	}
	if err := s.workloads(n, at); err != nil {
		return err
	}
	o := at.scheduled.Outcome
	n.Commit = ""
	aborted := ""
	if p := at.promotion; p != nil && p.Phase == decide.TakenBack {
		aborted = p.Reason
	}
	s.files(n, o, aborted)
	if o.Plan != nil {
		s.problems(n, o.Plan.Problems)
	}
	if s.Scoped() {
		return nil
	}
	return s.withoutClusters(n, at)
}

// promotion adds what the promotion of an environment waits for.
func (s *needs) promotion(n UserNeed, p *promote.Standing) {
	s.causes(n, &p.Verdict, p.Verdict.Causes())
	s.verifications(n, p.Phase, p.Checks)
	rings := RingsOf(p.Rings)
	for i := range rings {
		ring := n
		ring.Ring, ring.Commit = rings[i].Name, rings[i].Source
		s.verifications(ring, rings[i].Phase, rings[i].Checks)
		if rings[i].Paused != nil && p.Pause == nil {
			s.paused(ring, rings[i].Paused)
		}
	}
	for _, o := range p.Proposals {
		proposal := n
		proposal.Commit, proposal.PullRequest = o.Commit, &Change{URL: o.URL}
		switch o.State {
		case decide.ProposalOpen:
			proposal.Kind, proposal.Action = NeedPromotion, ActMerge
			proposal.Text = fmt.Sprintf("The promotion of %s to %s waits to be merged", fleet.ShortCommit(o.Commit), n.Environments[0])
		case decide.ProposalClosed:
			if o.Commit != p.Candidate {
				continue // a newer commit is promoted instead
			}
			proposal.Kind, proposal.Action, proposal.Since = NeedClosed, ActReview, o.Ended
			proposal.Text = fmt.Sprintf("The promotion of %s to %s was closed and not merged", fleet.ShortCommit(o.Commit), n.Environments[0])
		}
		s.add(proposal)
	}
	if p.Pause != nil {
		s.paused(n, p.Pause)
	}
}

// workloads adds the workloads that fail on clusters, of those that this server does not deliver itself.
func (s *needs) workloads(n UserNeed, at *standing) error {
	sc, err := s.environmentView(s.ctx, *at, targetFilter{}, time.Time{})
	if err != nil {
		return err
	}
	verdict, err := s.verdicts(time.Time{}).verdict(s.ctx, *at)
	if err != nil {
		return err
	}
	h, err := s.health(s.ctx, sc, &verdict)
	if err != nil {
		return err
	}
	for i := range sc.statuses {
		t := &sc.statuses[i]
		clusters := h.failsOn[t.name]
		if len(clusters) == 0 || s.delivers(at, t.workload) != nil {
			continue
		}
		one := n
		one.Kind, one.Action, one.State, one.Commit = NeedClusters, ActInspect, comply.Broken, ""
		one.Count, one.Clusters = len(clusters), firstNamed(clusters)
		one.Text = fmt.Sprintf("%s fails in %s", t.name, at.name)
		s.add(one)
	}
	return nil
}

func (s *needs) paused(n UserNeed, p *decide.Pause) {
	n.Kind, n.Action, n.Since, n.Commit = NeedResume, ActResume, p.At, ""
	n.Text, n.Reason = fmt.Sprintf("Promotions to %s are paused by %s", place(n), secret.Line(p.By)), secret.Line(p.Why)
	s.add(n)
}

// place names the environment or ring of a need.
func place(n UserNeed) string {
	if n.Ring != "" {
		return decide.RingName(n.Environments[0], n.Ring)
	}
	return n.Environments[0]
}

// causes adds the clusters that do not run what they should. Those that are only behind catch up by themselves, until the gate gives up.
func (s *needs) causes(n UserNeed, v *comply.Verdict, causes []comply.Cause) {
	for i := range causes {
		c := &causes[i]
		one := n
		one.State, one.Count, one.Clusters, one.Reason, one.Since = c.State, c.Count, slices.Clone(c.Clusters), secret.Line(c.Reason), c.Since
		one.Environments = slices.Clone(n.Environments)
		one.Kind, one.Action = NeedClusters, ActInspect
		one.cause = n.Subject + " " + c.Key
		switch c.State {
		case comply.Broken:
			one.Text = secret.Line(c.Reason)
		case comply.Behind:
			if v.Result != comply.TimedOut {
				continue
			}
			one.Text = "Not up to date in time: " + secret.Line(c.Reason)
		case comply.Offline:
			one.Kind, one.Text = NeedReports, "Offline: "+secret.Line(c.Reason)
			one.cause = n.Subject + " " + string(c.State) + " " + n.ControlPlane // each says how long
			one.offline = offlineIn(v)
			one.Count, one.Clusters = len(one.offline), firstNamed(one.offline)
		default:
			one.Kind, one.Action, one.Text = NeedReports, ActRegister, "No report of what they should run: "+secret.Line(c.Reason)
		}
		s.add(one)
	}
}

// offlineIn names the clusters that are offline, each once.
func offlineIn(v *comply.Verdict) []string {
	names := map[string]bool{}
	for i := range v.Reconcilers {
		if v.Reconcilers[i].State == comply.Offline {
			names[v.Reconcilers[i].Cluster] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// firstNamed returns the first names in natural order.
func firstNamed(names []string) []string {
	return natural.Sort(slices.Clone(names))[:min(len(names), maxNamed)]
}

// verifications adds failed verifications, and those that wait for users.
func (s *needs) verifications(n UserNeed, phase decide.State, checks []decide.CheckProgress) {
	for i := range checks {
		c := &checks[i]
		one := n
		one.Check, one.Since, one.Reason = c.Name, c.Begun, secret.Line(c.Reason)
		switch {
		case c.State == decide.CheckFailed && phase == decide.Failed:
			one.Kind, one.Action = NeedVerification, ActInspect
			one.Text = fmt.Sprintf("%s failed in %s", c.Name, place(n))
			if !c.Last.IsZero() {
				one.Since = c.Last
			}
		case c.State == decide.CheckWaiting && c.Kind == "approval":
			one.Kind, one.Action = NeedApproval, ActApprove
			one.Text = fmt.Sprintf("%s waits for approval in %s", c.Name, place(n))
		default:
			continue
		}
		s.add(one)
	}
}

// files adds what the pull request with an environment's generated files waits for. If its commit was aborted, it is not to be merged.
func (s *needs) files(n UserNeed, o *schedule.Outcome, aborted string) {
	pending := pendingFiles{aborted: aborted}
	if o.Plan != nil {
		pending.removals = o.Plan.Budget.Removals
		for _, r := range o.Plan.Refusals {
			pending.refusals = append(pending.refusals, r.Message)
		}
	}
	for _, f := range o.Findings {
		pending.findings.add(f.Level)
	}
	s.pullRequest(n, changeOf(o.PullRequest, o.Waits), pending)
	if o.PullRequest == nil {
		s.closed(n, changeOf(o.Refused, ""))
	}
}

// pendingFiles is what is wrong with the files of a pull request.
type pendingFiles struct {
	aborted  string
	refusals []string
	removals int
	findings FindingCounts
}

// pullRequest adds what a pull request waits for: an approval of removals, checks, or a merge; c is nil if none is open.
func (s *needs) pullRequest(n UserNeed, c *Change, files pendingFiles) {
	if c == nil {
		return
	}
	n.PullRequest, n.Since = c, c.Opened
	switch {
	case files.aborted != "":
		n.Kind, n.Action, n.Text = NeedChecks, ActReview, secret.Line(c.Title)
		n.Reason = "It is not to be merged: " + secret.Line(files.aborted)
	case len(files.refusals) > 0 && !slices.Contains(c.Labels, pullrequest.LabelAllowDeletions):
		n.Kind, n.Action, n.Count = NeedRemovals, ActAllow, files.removals
		n.Text, n.Reason = secret.Line(pullrequest.ToApprove(files.refusals[0])), secret.Line(c.Title)
	case files.findings.Refuse > 0:
		n.Kind, n.Action, n.Text = NeedChecks, ActReview, secret.Line(c.Title)
		n.Reason = "Checks refuse its manifests"
	case pullrequest.WaitsForChecks(c.Waits):
		return
	case c.Waits != "":
		n.Kind, n.Action, n.Text, n.Reason = NeedChecks, ActReview, secret.Line(c.Title), secret.Line(c.Waits)
	default:
		n.Kind, n.Action, n.Text = NeedMerge, ActMerge, secret.Line(c.Title)
	}
	s.add(n)
}

func (s *needs) closed(n UserNeed, c *Change) {
	if c == nil {
		return
	}
	n.Kind, n.Action, n.PullRequest = NeedClosed, ActReview, c
	n.Text = fmt.Sprintf("Pull request #%d was closed and not merged: %s", c.Number, secret.Line(c.Title))
	n.Reason = "Nothing is rolled out until what it proposes changes, or it is opened again"
	s.add(n)
}

// problems adds the problems of repositories. Environments that read the same file have one need together.
func (s *needs) problems(n UserNeed, problems []fleet.Problem) {
	for i := range problems {
		p := problems[i]
		one := n
		one.Environments = slices.Clone(n.Environments)
		switch {
		case p.Severity == fleet.SeverityNotice:
			continue
		case p.Severity == fleet.SeverityWarning:
			one.Kind = NeedWarning
		case p.Kind == fleet.KindConfigMissing:
			one.Kind = NeedValue
		default:
			one.Kind = NeedProblem
		}
		if p.Assignment != "" {
			one.Count = 1
		}
		one.Action, one.Problem, one.Text, one.Reason = ActEdit, &p, secret.Line(p.Message), secret.Line(p.Hint)
		one.cause = strings.Join([]string{
			"problem", string(one.Kind), n.ControlPlane, n.Subject, string(p.Kind), p.Object.String(), p.Position.Source, p.Position.String(), p.Message,
		}, "\x00")
		s.add(one)
	}
}

// withoutClusters adds the cluster types that have published assignments and no clusters.
func (s *needs) withoutClusters(n UserNeed, at *standing) error {
	inv := at.scheduled.targets()
	if inv == nil {
		return nil
	}
	members, err := s.members(s.ctx, ledger.MembersQuery{Environment: at.name})
	if err != nil {
		return err
	}
	types := map[string]bool{}
	for _, t := range inv.targets {
		for _, a := range t.assignments {
			if a.isPublished() && members[a.clusterType] == 0 {
				types[a.clusterType] = true
			}
		}
	}
	if len(types) == 0 {
		return nil
	}
	n.Kind, n.Action = NeedCluster, ActRegister
	n.ClusterTypes = natural.Sort(slices.Collect(maps.Keys(types)))
	n.Text = fmt.Sprintf("No clusters of %s in %s yet", few(n.ClusterTypes), at.name)
	n.Reason = "What is assigned to them runs nowhere"
	s.add(n)
	return nil
}

// few joins the first names.
func few(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
