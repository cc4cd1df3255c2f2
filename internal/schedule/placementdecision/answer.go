package placementdecision

import (
	"fmt"
	"slices"
	"strings"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
)

// For returns the placements that a request is about: those named like its policy, or like one of its targets.
func For(r *schedulingv1.Request, all []Placement) []Placement {
	return slices.DeleteFunc(slices.Clone(all), func(p Placement) bool {
		return p.Name != r.Policy.Name && !slices.ContainsFunc(r.Targets, func(t schedulingv1.Target) bool { return t.Name == p.Name })
	})
}

// Answer returns the answer that placements are to a request. The placement of a target is the one with its name, or else the
// one with the name of the policy. A scheduler's answer has the chosen candidates; an extender's refuses all others.
func Answer(r *schedulingv1.Request, placements []Placement) *schedulingv1.Response {
	a := &answer{request: r, response: &schedulingv1.Response{Version: schedulingv1.Version, Digest: r.Digest}, types: map[string]string{}, warned: map[string]bool{}}
	if r.Task == schedulingv1.Extend {
		a.response.Refused = []schedulingv1.Refusal{}
	} else {
		a.response.Decisions = []schedulingv1.Decision{}
	}
	for _, ct := range r.ClusterTypes {
		a.types[ct.Name] = ct.Name
	}
	for _, ct := range r.ClusterTypes {
		for _, c := range ct.Clusters {
			a.types[c.Name] = ct.Name
		}
	}
	for i := range r.Targets {
		p, err := find(placements, r.Targets[i].Name, r.Policy.Name)
		if err == nil {
			err = a.target(&r.Targets[i], p)
		}
		if err != nil {
			return &schedulingv1.Response{Version: schedulingv1.Version, Digest: r.Digest, Error: err.Error()}
		}
	}
	return a.response
}

// find returns the placement with one of the names, the first if there are both.
func find(placements []Placement, names ...string) (*Placement, error) {
	for _, name := range names {
		var found *Placement
		for i := range placements {
			if placements[i].Name != name {
				continue
			}
			if found != nil {
				return nil, fmt.Errorf("placement %q is in the namespaces %q and %q; configure the namespace", name, found.Namespace, placements[i].Namespace)
			}
			found = &placements[i]
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("there is no PlacementDecision of a placement %q or %q", names[0], names[1])
}

type answer struct {
	request  *schedulingv1.Request
	response *schedulingv1.Response
	// types are the cluster types of clusters.
	types  map[string]string
	warned map[string]bool
}

// target adds what a placement chose for a target.
func (a *answer) target(t *schedulingv1.Target, p *Placement) error {
	chosen, unknown := map[string][]Cluster{}, []string(nil)
	for _, c := range p.Clusters {
		if ct, ok := a.types[c.Name]; ok {
			chosen[ct] = append(chosen[ct], c)
		} else {
			unknown = append(unknown, c.Name)
		}
	}
	if len(p.Clusters) > 0 && len(chosen) == 0 {
		return fmt.Errorf("placement %q chose %s, which is not a cluster of a candidate: add Cluster objects, or a cluster type with this name", p.Name, some(unknown))
	}
	if len(unknown) > 0 {
		a.warn(fmt.Sprintf("placement %q chose %s, which is not a cluster of a candidate", p.Name, some(unknown)))
	}
	for _, ct := range a.request.ClusterTypes {
		if n := len(chosen[ct.Name]); n > 0 && n < len(ct.Clusters) {
			a.warn(fmt.Sprintf("placement %q chose %d of %d clusters of cluster type %q: the assignment is for all of them", p.Name, n, len(ct.Clusters), ct.Name))
		}
	}
	for _, candidate := range t.Candidates {
		clusters, isChosen := chosen[candidate]
		switch {
		case a.request.Task == schedulingv1.Extend && !isChosen:
			a.response.Refused = append(a.response.Refused, schedulingv1.Refusal{
				Target: t.Name, ClusterType: candidate, Reason: fmt.Sprintf("placement %s did not choose it", shorten(p.Name)),
			})
		case a.request.Task == schedulingv1.Schedule && isChosen:
			a.response.Decisions = append(a.response.Decisions, schedulingv1.Decision{
				Target: t.Name, ClusterType: candidate, Reason: reason(p, clusters),
			})
		}
	}
	return nil
}

// reason says which clusters the placement chose, and why.
func reason(p *Placement, clusters []Cluster) string {
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = c.Name
	}
	text := "placement " + shorten(p.Name) + " chose " + some(names)
	if why := clusters[0].Reason; why != "" {
		text += ": " + why
	}
	return cut(text, schedulingv1.MaxReason)
}

// warn adds a warning once. There can be more placements than warnings.
func (a *answer) warn(text string) {
	if !a.warned[text] && len(a.response.Warnings) < schedulingv1.MaxWarnings {
		a.warned[text] = true
		a.response.Warnings = append(a.response.Warnings, cut(text, schedulingv1.MaxReason))
	}
}

// some lists up to three names.
func some(names []string) string {
	short := make([]string, 0, 3)
	for _, name := range names[:min(3, len(names))] {
		short = append(short, shorten(name))
	}
	text := strings.Join(short, ", ")
	if more := len(names) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func shorten(name string) string { return cut(name, 100) }

// cut limits a text to a number of bytes.
func cut(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit-3], "") + "..."
	}
	return text
}
