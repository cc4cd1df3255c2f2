package resourcegraph

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// maxMessage is how much of a message is passed on. The intake makes one line of it and removes credentials.
const maxMessage = 8 << 10

// nameOf reports whether a text can be the name of an object.
func nameOf(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// Reports returns what a configuration says about the reconcilers of its cluster, in the order of their names, and what is wrong with
// it. The time of all observations is when the cluster sent them to Azure. A configuration without that time has no reports.
func (c *Configuration) Reports() ([]hub.Report, []Problem) {
	var problems []Problem
	problem := func(text string) { problems = append(problems, Problem{Resource: c.ID, Text: text}) }
	if c.StatusUpdatedAt.IsZero() {
		problem("the cluster has not sent a status to Azure yet")
		return nil, problems
	}
	found := map[hub.ReconcilerRef]hub.Report{}
	unnamed, twice := false, false
	for i := range c.Statuses {
		s := &c.Statuses[i]
		if s.Kind != "Kustomization" && s.Kind != "HelmRelease" {
			continue // sources and charts apply nothing
		}
		if !nameOf(s.Name) || !nameOf(s.Namespace) {
			unnamed = true
			continue
		}
		r := c.report(s)
		if _, known := found[r.Reconciler()]; known {
			twice = true
			r.State, r.Revision, r.Health, r.Message = hub.StateProgressing, "", "", "Azure lists it twice"
		}
		found[r.Reconciler()] = r
	}
	for _, key := range slices.Sorted(maps.Keys(c.Kustomizations)) {
		r := hub.Report{
			Kind: "Kustomization", Namespace: c.Namespace, Name: c.Name + "-" + key, State: hub.StateProgressing,
			Message: "Azure has no status of it yet: " + c.ErrorMessage, Observed: c.StatusUpdatedAt.Time,
		}
		if _, known := found[r.Reconciler()]; known {
			continue
		}
		if !nameOf(r.Name) || !nameOf(r.Namespace) {
			unnamed = true
			continue
		}
		r.Message = strings.TrimSuffix(r.Message, ": ")
		r.Repository, r.Ref, r.Path = c.follows(key, "")
		found[r.Reconciler()] = limited(r)
	}
	if unnamed {
		problem("it has objects whose names are not valid; they are not reported")
	}
	if twice {
		problem("it lists an object twice; its state is not known")
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b hub.Report) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(all) > hub.MaxReports {
		problem("it has more than 500 reconcilers; the others are not reported")
		all = all[:hub.MaxReports]
	}
	return all, problems
}

// report returns the report of one object.
func (c *Configuration) report(s *status) hub.Report {
	ready := s.condition("Ready")
	r := hub.Report{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Observed: c.StatusUpdatedAt.Time}
	key, own := strings.CutPrefix(s.Name, c.Name+"-")
	own = own && s.Kind == "Kustomization" && s.AppliedBy == nil && s.Namespace == c.Namespace && c.Kustomizations[key] != nil
	applied := revisions.Revision{}
	if text, ok := strings.CutPrefix(ready.Message, "Applied revision: "); ok && s.Kind == "Kustomization" && ready.Status == "True" {
		applied = revisions.Parse(strings.TrimSpace(text))
		r.Revision = applied.Hash
	}
	switch {
	case own && c.Suspend || strings.EqualFold(s.ComplianceState, "Suspended"):
		r.State = hub.StateSuspended
	case ready.Status == "True" && !strings.EqualFold(s.ComplianceState, "Compliant"):
		r.State, r.Message = hub.StateProgressing, "Azure does not call it compliant"
	case ready.Status == "True":
		r.State = hub.StateReady
		if healthy := s.condition("Healthy"); healthy.Status == "True" {
			r.Health = hub.HealthHealthy
		}
	case ready.Status == "False" && !waits(ready.Reason):
		c.failed(&r, &ready, own)
	case ready.Status != "":
		r.State, r.Message = hub.StateProgressing, ready.Message
	case strings.EqualFold(s.ComplianceState, "Non-Compliant"):
		r.State, r.Message = hub.StateProgressing, "Azure says that it is not compliant, and not why"
	default:
		r.State, r.Message = hub.StateProgressing, "Azure does not say whether it is ready"
	}
	if own {
		r.Repository, r.Ref, r.Path = c.follows(key, applied.Name)
	}
	return limited(r)
}

// failed sets the state of an object that is not ready. A Kustomization of the configuration tried the commit of the source if it failed
// after the source had it. An earlier failure was about another commit, which is not known.
func (c *Configuration) failed(r *hub.Report, ready *condition, own bool) {
	source := revisions.Parse(c.SourceSyncedCommitID).Hash
	if own && (source == "" || c.SourceUpdatedAt.IsZero() || ready.LastTransitionTime.Before(c.SourceUpdatedAt.Time)) {
		r.State, r.Message = hub.StateProgressing, "failed at a commit that Azure does not name: "+ready.Message
		return
	}
	r.State, r.Message = hub.StateFailed, ready.Message
	if own {
		r.Revision = source
	}
}

// waits reports whether a reconciler is not ready only because of another object, or not yet.
func waits(reason string) bool {
	switch reason {
	case "DependencyNotReady", "Progressing", "ProgressingWithRetry", "ArtifactFailed", "SourceNotReady":
		return true
	}
	return false
}

func (s *status) condition(kind string) condition {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// follows returns what a Kustomization of the configuration follows. For a range of versions, tag is the one that it applied.
func (c *Configuration) follows(key, tag string) (repository, ref, folder string) {
	git := c.GitRepository
	if git == nil || git.URL == "" {
		return "", "", ""
	}
	if k := c.Kustomizations[key]; k != nil {
		folder = strings.TrimPrefix(path.Clean("/"+k.Path), "/")
	}
	switch at := git.RepositoryRef; {
	case at == nil:
		ref = "master" // Flux's default
	case at.Commit != "":
		ref = at.Branch
	case at.SemVer != "":
		ref = tagRef(tag)
	case at.Tag != "":
		ref = tagRef(at.Tag)
	default:
		ref = cmp.Or(at.Branch, "master")
	}
	return git.URL, ref, folder
}

func tagRef(name string) string {
	if name == "" {
		return ""
	}
	return "refs/tags/" + name
}

// limited cuts texts that would be too long to read.
func limited(r hub.Report) hub.Report {
	r.Message = r.Message[:min(len(r.Message), maxMessage)]
	return r
}
