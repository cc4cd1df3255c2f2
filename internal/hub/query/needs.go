package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/natural"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// NeedKind is what a need is about.
type NeedKind string

// The kinds of needs, the most urgent first.
const (
	// NeedClusters means that clusters fail at the commit that they should run, all for the same cause.
	NeedClusters NeedKind = "clusters"
	// NeedVerification means that a verification failed.
	NeedVerification NeedKind = "verification"
	// NeedRemovals means that a pull request removes more than is allowed without approval.
	NeedRemovals NeedKind = "removals"
	// NeedApproval means that a verification waits for users to approve a commit.
	NeedApproval NeedKind = "approval"
	// NeedChecks means that checks of a pull request did not succeed.
	NeedChecks NeedKind = "checks"
	// NeedPromotion means that a pull request that promotes a commit waits to be merged.
	NeedPromotion NeedKind = "promotion"
	// NeedMerge means that a pull request with generated files waits to be merged.
	NeedMerge NeedKind = "merge"
	// NeedValue means that assignments are held because values are missing.
	NeedValue NeedKind = "value"
	// NeedProblem means that a repository has an error.
	NeedProblem NeedKind = "problem"
	// NeedReports means that clusters are offline, or that no reconciler of theirs reports.
	NeedReports NeedKind = "reports"
	// NeedCluster means that a cluster type has assignments and no clusters.
	NeedCluster NeedKind = "cluster"
	// NeedClosed means that a user closed a pull request without merging it. It is opened again when what it proposes changes.
	NeedClosed NeedKind = "closed"
	// NeedResume means that promotions are paused.
	NeedResume NeedKind = "resume"
	// NeedWarning means that a repository has something that is probably a mistake.
	NeedWarning NeedKind = "warning"
)

// needKinds lists the kinds by urgency.
var needKinds = []NeedKind{
	NeedClusters, NeedVerification, NeedRemovals, NeedApproval, NeedChecks, NeedPromotion, NeedMerge, NeedValue, NeedProblem, NeedReports,
	NeedCluster, NeedClosed, NeedResume, NeedWarning,
}

// NeedAction is what settles a need.
type NeedAction string

// The actions.
const (
	// ActMerge is to merge the pull request, on the forge or, as an operator, on the environment's page.
	ActMerge NeedAction = "merge"
	// ActAllow is to approve the removals with the label that Text names, or to close the pull request, on the forge.
	ActAllow NeedAction = "allow"
	// ActReview is to look at the pull request on the forge, whose checks say what to do.
	ActReview NeedAction = "review"
	// ActApprove is to approve the commit for the verification Check; operators may.
	ActApprove NeedAction = "approve"
	// ActResume is to resume promotions; operators may.
	ActResume NeedAction = "resume"
	// ActEdit is to edit the file of Problem.
	ActEdit NeedAction = "edit"
	// ActInspect is to look at the clusters, or at the failed verification.
	ActInspect NeedAction = "inspect"
	// ActRegister is to register clusters, or to start their agents.
	ActRegister NeedAction = "register"
)

// UserNeed is something that does not go on without a user.
type UserNeed struct {
	Kind NeedKind `json:"kind"`
	// Text describes it in one line.
	Text string `json:"text"`
	// Reason has the whole message of a cause, or explains a wait; optional.
	Reason string `json:"reason,omitempty"`
	// Action is what settles it.
	Action NeedAction `json:"action"`
	// ControlPlane is the URL of the control plane; of the first environment if several have the same cause.
	ControlPlane string `json:"controlPlane"`
	// Environments are those that it is about; never nil.
	Environments []string `json:"environments"`
	// Ring is the ring of the environment; empty for all of it.
	Ring string `json:"ring,omitempty"`
	// Application is the application's workload; empty for what the platform rolls out. Subject identifies it in the ledger.
	Application string `json:"application,omitempty"`
	Subject     string `json:"subject,omitempty"`
	// State is the state of the clusters.
	State comply.State `json:"state,omitempty"`
	// Count is how many clusters, or assignments, it is about; 0 if they are not counted. Clusters names the first few.
	Count    int      `json:"count,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
	// ClusterTypes are those without clusters.
	ClusterTypes []string `json:"clusterTypes,omitempty"`
	// Commit is the promoted commit; empty if it is not about one.
	Commit string `json:"commit,omitempty"`
	// Check is the verification.
	Check string `json:"check,omitempty"`
	// PullRequest is the open pull request. A promotion only has its URL.
	PullRequest *Change `json:"pullRequest,omitempty"`
	// Problem is the problem in a repository, with file and line.
	Problem *fleet.Problem `json:"problem,omitempty"`
	// Since is when it began; zero if unknown.
	Since time.Time `json:"since,omitzero"`

	// cause joins needs with one cause; empty for a need of its own.
	cause string
	// offline names all clusters of a need about clusters that are offline. In several environments, they are the
	// same ones.
	offline []string
}

// Unsure is something that could not be read, so that it is not known what it needs.
type Unsure struct {
	ControlPlane string `json:"controlPlane,omitempty"`
	// Environment and Application are what it is about; both are empty for the control plane.
	Environment string `json:"environment,omitempty"`
	Application string `json:"application,omitempty"`
	// Text says what is not known, as a sentence without a full stop.
	Text string `json:"text"`
}

// Needs is what does not go on without a user.
type Needs struct {
	// Items are the needs, the most urgent first.
	Page[UserNeed]
	// Total counts the needs of all pages.
	Total int `json:"total"`
	// Unsure is what could not be read, at most 20 of it. Nothing needs a user only if there is nothing in it, and no need.
	Unsure []Unsure `json:"unsure"`
}

// NeedsQuery selects needs. Empty fields match all.
type NeedsQuery struct {
	Environment  string   `query:"environment" maxLength:"253" doc:"Only needs of this environment."`
	ControlPlane string   `query:"controlPlane" maxLength:"2048" doc:"Only needs of this control plane and its applications."`
	Kind         NeedKind `query:"kind" enum:"clusters,verification,removals,approval,checks,promotion,merge,value,problem,reports,cluster,closed,resume,warning" doc:"Only needs of this kind."`
	Paging
}

// maxUnsure limits what is listed as not known.
const maxUnsure = 20

// Needs returns what does not go on without a user, as the last rounds found it: the most urgent kind first, within a kind the oldest first.
// The results of rounds are its only source. What no round has read, or a failed one, is in Unsure. A viewer of [Observer.Within] has those
// of its applications and of its assignments that are held: not those of the platform, which it cannot settle.
func (o *Observer) Needs(ctx context.Context, q NeedsQuery) (Needs, error) {
	found := &needs{Observer: o, ctx: ctx, q: q, index: map[string]int{}}
	if err := found.gather(); err != nil {
		return Needs{Page: Page[UserNeed]{Items: []UserNeed{}}, Unsure: []Unsure{}}, err
	}
	all := slices.DeleteFunc(found.all, func(n UserNeed) bool {
		return q.Kind != "" && q.Kind != n.Kind || q.Environment != "" && !slices.Contains(n.Environments, q.Environment)
	})
	page, err := cut(all, q.Paging, (*UserNeed).key)
	unsure := append([]Unsure{}, found.unsure[:min(len(found.unsure), maxUnsure)]...)
	return Needs{Page: page, Total: len(all), Unsure: unsure}, err
}

// key sorts by urgency.
func (n *UserNeed) key() string {
	since := "9" // unknown
	if !n.Since.IsZero() {
		since = "0" + utc(n.Since).Format(time.RFC3339Nano)
	}
	environment := ""
	if len(n.Environments) > 0 {
		environment = natural.Key(n.Environments[0])
	}
	return key(fmt.Sprintf("%02d", slices.Index(needKinds, n.Kind)), since, environment, n.ControlPlane, n.Subject, n.Ring, n.Check, n.Text, n.cause)
}

// needs collects needs.
type needs struct {
	*Observer
	ctx    context.Context
	q      NeedsQuery
	all    []UserNeed
	index  map[string]int
	unsure []Unsure
}

func (s *needs) gather() error {
	if s.Fleet == nil {
		s.unknown(Unsure{Text: "this program reads no repositories"})
		return nil
	}
	planes := s.Fleet.ControlPlanes()
	switch {
	case len(planes) > 0:
	case s.Scoped():
		s.unknown(Unsure{Text: "no round has found anything of these workspaces"})
	default:
		s.unknown(Unsure{Text: "no control plane has been read yet"})
	}
	for i := range planes {
		cp := &planes[i]
		if s.q.ControlPlane != "" && !repourl.Same(cp.URL, s.q.ControlPlane) {
			continue
		}
		s.known(cp)
		for _, standing := range cp.standings() {
			if err := s.environment(&standing); err != nil {
				return err
			}
		}
		if cp.Promotion != nil {
			s.problems(UserNeed{ControlPlane: cp.URL, Environments: []string{}}, cp.Promotion.Problems)
		}
		for _, a := range cp.Applications {
			s.application(a)
		}
	}
	return nil
}

// known adds what the rounds of a control plane have not read.
func (s *needs) known(cp *ControlPlane) {
	switch {
	case cp.Err != nil:
		s.unknown(Unsure{ControlPlane: cp.URL, Text: "the control plane cannot be read"})
	case cp.Environments == nil && cp.Promotion == nil && len(cp.Scheduling) == 0:
		s.unknown(Unsure{ControlPlane: cp.URL, Text: "the control plane has not been read yet"})
		return
	case cp.Promotion == nil && len(cp.Environments) > 0:
		s.unknown(Unsure{ControlPlane: cp.URL, Text: "promotions have not been checked yet"})
	}
	names := slices.Clone(cp.Environments)
	for _, standing := range cp.standings() {
		names = append(names, standing.name)
	}
	for _, name := range slices.Compact(natural.Sort(names)) {
		at := Unsure{ControlPlane: cp.URL, Environment: name}
		switch scheduled := cp.Scheduling[name]; {
		case scheduled == nil || scheduled.Outcome == nil && scheduled.Err == nil:
			at.Text = "its repositories have not been read yet"
			s.unknown(at)
		case scheduled.Err != nil:
			at.Text = "the last round failed: " + errorLine(scheduled.Err)
			s.unknown(at)
		}
	}
}

func (s *needs) unknown(u Unsure) {
	if s.q.Environment == "" || u.Environment == "" || u.Environment == s.q.Environment {
		s.unsure = append(s.unsure, u)
	}
}

// maxNamed limits the clusters and environments that a need names.
const maxNamed = 5

// add adds a need, or joins it with the one that has the same cause.
func (s *needs) add(n UserNeed) {
	n.Since = utc(n.Since)
	i, known := s.index[n.cause]
	if n.cause == "" || !known {
		s.index[n.cause] = len(s.all)
		s.all = append(s.all, n)
		return
	}
	was := &s.all[i]
	if len(n.offline) > 0 {
		was.offline = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.offline, n.offline))))
		was.Count, was.Clusters = len(was.offline), firstNamed(was.offline)
	} else {
		was.Count += n.Count
		was.Clusters = append(was.Clusters, n.Clusters...)
		was.Clusters = was.Clusters[:min(len(was.Clusters), maxNamed)]
	}
	for _, name := range n.Environments {
		if !slices.Contains(was.Environments, name) {
			was.Environments = append(was.Environments, name)
		}
	}
	if was.Since.IsZero() || !n.Since.IsZero() && n.Since.Before(was.Since) {
		was.Since = cmp.Or(n.Since, was.Since)
	}
}
