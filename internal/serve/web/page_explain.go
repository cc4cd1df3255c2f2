package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// explainPage explains a target on one cluster type or cluster, or on all cluster types.
type explainPage struct {
	query.Explained
	// Back is the environment's page, and All this page for all cluster types.
	Back, All string
	// Commits are those that the answer depends on.
	Commits []commitView
	// One is the requested pair; nil for all cluster types.
	One *pairView
	// Pairs are those on all cluster types, assigned ones first. More is how many are left out.
	Pairs []pairView
	More  int
	// WhatIf is the form for imagined changes; nil without previews.
	WhatIf *whatIfView
}

// commitView is a commit with its page on the forge.
type commitView struct{ Name, Commit, Address string }

// pairView is a target on a cluster type.
type pairView struct {
	schedule.Pair
	// State is placed, held or unassigned. Why is the reason in one line.
	State, Why string
	// Where is the cluster or cluster type, Address its page.
	Where, Address string
	HeldAt         placeView
	// Policies decide, or come closest to it. Others are the rest.
	Policies, Others []policyView
	Keys             []keyView
	MoreKeys         int
	// WithWhatIf means that keys lead to the form for other values.
	WithWhatIf bool
}

// policyView is what a policy does with a pair.
type policyView struct {
	placement.PolicyReason
	// Did is what it does: "assigns it", "does not select it".
	Did string
	At  placeView
}

// keyView is a value of the platform configuration with its layers, the one that won first.
type keyView struct {
	config.Key
	Layers []layerView
	// WhatIf is the address of the form for another value; empty if it cannot be imagined.
	WhatIf string
}

// layerView is a value that a layer has.
type layerView struct {
	config.Layer
	Value string
	At    placeView
}

// placeView is a position, with its page on the forge if that is known.
type placeView struct{ Text, Address string }

// Limits of the page.
const (
	maxPairs     = 500
	maxKeysShown = 500
	nearPolicies = 3
)

func (s *site) explain(q *pageRequest) (*pageResult, error) {
	question := query.ExplainQuery{
		Name: q.PathValue("name"), ControlPlane: q.text("controlPlane"), Target: q.text("target"), ClusterType: q.text("clusterType"), Cluster: q.text("cluster"),
	}
	if question.ClusterType != "" || question.Cluster != "" {
		question.Config = "*"
	}
	found, err := q.observer.Explain(q.Context(), question)
	if err != nil {
		return nil, err
	}
	standing, err := q.observer.Standing(question.Name, question.ControlPlane)
	if err != nil {
		return nil, err
	}
	kept := url.Values{"controlPlane": {found.ControlPlane}}.Encode()
	view := explainPage{Explained: found, Back: "/environments/" + url.PathEscape(found.Environment) + "?" + kept, All: s.explainAddress(found, "", "")}
	places := s.placesOf(found.Inputs)
	view.Commits = places.commits(found)
	for _, p := range found.Pairs {
		view.Pairs = append(view.Pairs, s.pairView(found, p, places))
	}
	title := line(found.Target)
	if question.ClusterType == "" && question.Cluster == "" {
		slices.SortStableFunc(view.Pairs, func(a, b pairView) int { return cmp.Compare(rankOf(a.State), rankOf(b.State)) })
		view.More = max(0, len(view.Pairs)-maxPairs)
		view.Pairs = view.Pairs[:len(view.Pairs)-view.More]
	} else if len(view.Pairs) > 0 {
		view.One, view.Pairs = &view.Pairs[0], nil
		title += " on " + line(view.One.Where)
	}
	if draft, err := standing.Draft(); err == nil && s.Trials != nil {
		view.WhatIf = whatIfOf(q, found, draft.Loaded.Snapshot, view.One)
		if view.One != nil {
			view.One.WithWhatIf = view.WhatIf != nil
		}
	}
	words := []string{"explain", "-e", found.Environment, found.Target}
	if question.Cluster != "" {
		words = append(words, "--cluster", question.Cluster)
	} else {
		words = append(words, question.ClusterType)
	}
	if question.Config != "" {
		words = append(words, "--config", question.Config)
	}
	return &pageResult{
		title: title, value: found, view: view, command: CommandLine(append(words, "--control-plane", line(found.ControlPlane))...),
		concerns: []string{operations("environments/" + url.PathEscape(found.Environment))},
	}, nil
}

// explainAddress returns the page of a pair, or of all pairs of the target.
func (s *site) explainAddress(e query.Explained, clusterType, cluster string) string {
	values := url.Values{"target": {e.Target}, "controlPlane": {e.ControlPlane}, "clusterType": {clusterType}, "cluster": {cluster}}
	maps.DeleteFunc(values, func(_ string, all []string) bool { return all[0] == "" })
	return "/environments/" + url.PathEscape(e.Environment) + "/explain?" + values.Encode()
}

// pairView prepares a pair. The policies of the explanation are sorted by how close they come.
func (s *site) pairView(e query.Explained, p schedule.Pair, places places) pairView {
	v := pairView{Pair: p, State: "unassigned", Where: cmp.Or(p.Cluster, p.ClusterType), Address: s.explainAddress(e, p.ClusterType, "")}
	if p.Cluster != "" {
		v.Address = s.explainAddress(e, "", p.Cluster)
	}
	switch {
	case p.Held != nil:
		v.State, v.HeldAt = "held", places.at(p.Held.Position)
	case p.Assigned:
		v.State = "placed"
	}
	near := 0
	for _, policy := range p.Policies {
		view := policyView{PolicyReason: policy, Did: didOf(policy), At: places.at(policy.Position)}
		switch {
		case policy.Selects:
			v.Policies = slices.Insert(v.Policies, len(v.Policies)-near, view)
		case !p.Assigned && near < nearPolicies:
			v.Policies = append(v.Policies, view)
			near++
		default:
			v.Others = append(v.Others, view)
		}
	}
	v.Why = whyOf(p, v.Policies)
	for i, k := range p.Config {
		if i == maxKeysShown {
			v.MoreKeys = len(p.Config) - i
			break
		}
		v.Keys = append(v.Keys, keyOf(k, places, v.Address))
	}
	return v
}

// rankOf orders pairs: what is assigned first.
func rankOf(state string) int { return slices.Index([]string{"placed", "held", "unassigned"}, state) }

// didOf says what a policy does with a pair.
func didOf(p placement.PolicyReason) string {
	excludes := p.Mode == v1alpha1.PolicyExclude
	switch {
	case p.Selects && excludes:
		return "excludes it"
	case p.Selects:
		return "assigns it"
	case p.Step == placement.StepSelectors:
		return "does not select it"
	case excludes:
		return "does not exclude it"
	}
	return "does not assign it"
}

// whyOf returns the most important reason of a pair.
func whyOf(p schedule.Pair, policies []policyView) string {
	switch {
	case p.Held != nil:
		return p.Held.Message
	case p.Lacks != "":
		return p.Lacks
	case len(policies) == 0:
		return "no policy in this environment"
	}
	first := policies[0]
	text := first.Policy + " " + first.Did
	switch {
	case len(first.Failed) > 0:
		r := first.Failed[0]
		text += fmt.Sprintf(": %s wants %s, has %s", sideOf(r), r.Want, r.Have)
		if more := len(first.Failed) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
	case first.Reason != "":
		text += ": " + first.Reason
	}
	return text
}

// sideOf names what a requirement is about.
func sideOf(r placement.Requirement) string {
	if r.Of == "target" {
		return "the target"
	}
	return "the cluster type"
}

func keyOf(k config.Key, places places, here string) keyView {
	v := keyView{Key: k, Layers: []layerView{{Layer: k.From, Value: k.Value, At: places.at(k.From.Position)}}}
	for _, o := range k.Over {
		v.Layers = append(v.Layers, layerView{Layer: o.Layer, Value: o.Value, At: places.at(o.Position)})
	}
	if k.Expression == "" && !strings.ContainsAny(k.Path, `.[]"`) {
		v.WhatIf = here + "&" + url.Values{"what": {"value:" + k.From.ConfigMap}, "key": {k.Path}}.Encode() + "#what-if"
	}
	return v
}

// places finds the pages of positions. The keys are the sources of positions.
type places struct {
	site   *site
	inputs map[string]schedule.Input
	all    []schedule.Input
}

func (s *site) placesOf(inputs []schedule.Input) places {
	p := places{s, map[string]schedule.Input{}, inputs}
	for _, in := range inputs {
		p.inputs[in.Name] = in
	}
	return p
}

// at returns a position with its page.
func (p places) at(position fleet.Position) placeView {
	v := placeView{Text: position.String()}
	in := p.inputs[position.Source]
	if v.Text != "" && position.Source != "" {
		v.Text = position.Source + " " + v.Text
	}
	v.Address = p.site.onForge(in.Repo).File(in.Commit, position.File, position.Line)
	return v
}

// commits returns the commits of the inputs, and that of the GitOps branch.
func (p places) commits(e query.Explained) []commitView {
	var all []commitView
	for _, in := range p.all {
		if in.Commit != "" {
			all = append(all, commitView{in.Name, in.Commit, p.site.onForge(in.Repo).Commit(in.Commit)})
		}
	}
	return all
}

// onForge returns the pages of a repository.
func (p *Pages) onForge(repository string) forge.Browse {
	if p.Browse == nil {
		return forge.Browse{}
	}
	b := p.Browse(repository)
	b.URL = strings.TrimPrefix(b.URL, strings.TrimSuffix(p.URL, "/")) // a browser that used another host name stays on it
	return b
}
