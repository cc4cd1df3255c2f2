package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// whatIfView is a form for imagined changes. It leads to their plan.
type whatIfView struct {
	// Action is the address of the form, ControlPlane its hidden parameter.
	Action, ControlPlane string
	// Options are what can be changed. What, Key and To are the initial values.
	Options       []Link
	What, Key, To string
	// Keys are suggested: labels, and keys of the configuration.
	Keys []string
	// Links are changes without a value.
	Links []Link
}

// maxSuggested limits the suggested keys.
const maxSuggested = 200

// whatIfOf returns the form for a target, and for one of its pairs unless that is nil.
func whatIfOf(q *pageRequest, e query.Explained, s *fleet.Snapshot, one *pairView) *whatIfView {
	environment := url.PathEscape(e.Environment)
	v := &whatIfView{Action: "/environments/" + environment + "/what-if", ControlPlane: e.ControlPlane, What: q.text("what"), Key: q.text("key")}
	absent := func(kind, name, text string) {
		v.Links = append(v.Links, Link{text, PlanAddress(schedule.PlanRequest{
			ControlPlane: e.ControlPlane, Environment: e.Environment, WhatIf: kind + ":" + name + "=absent",
		})})
	}
	v.Options = append(v.Options, Link{"label of target " + e.Target, "label:target/" + e.Target})
	for _, t := range s.Targets {
		if t.Name == e.Target {
			v.suggest(t.Labels)
		}
	}
	absent("target", e.Target, "without this target")
	if one == nil {
		return v
	}
	name := one.ClusterType
	v.Options = slices.Insert(v.Options, 0, Link{"label of cluster type " + name, "label:clusterType/" + name})
	v.Options = append(v.Options, Link{"taint of cluster type " + name, "taint:" + name}, Link{"capacity of cluster type " + name, "capacity:" + name})
	for _, ct := range s.ClusterTypes {
		if ct.Name == name {
			v.suggest(ct.Labels)
		}
	}
	absent("clusterType", name, "without cluster type "+name)
	for _, p := range one.Policies {
		if p.Selects {
			absent("policy", p.Policy, "without policy "+p.Policy)
		}
	}
	for _, k := range one.Keys {
		if len(k.WhatIf) == 0 {
			continue
		}
		v.Keys = append(v.Keys, k.Path)
		for _, l := range k.Layers {
			option := Link{"value in ConfigMap " + l.ConfigMap, "value:" + l.ConfigMap}
			if !slices.Contains(v.Options, option) {
				v.Options = append(v.Options, option)
			}
		}
		if k.Path == v.Key && v.What == "value:"+k.From.ConfigMap {
			v.To = k.Value
		}
	}
	slices.Sort(v.Keys)
	v.Keys = slices.Compact(v.Keys)
	v.Keys = v.Keys[:min(len(v.Keys), maxSuggested)]
	return v
}

// suggest adds the keys of labels.
func (v *whatIfView) suggest(labels map[string]string) {
	for key := range labels {
		v.Keys = append(v.Keys, key)
	}
}

// whatIf leads from the form to the plan of the imagined change.
func (s *site) whatIf(q *pageRequest) (*pageResult, error) {
	controlPlane, err := s.choose(q, q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	value := q.text("to")
	if strings.HasPrefix(q.text("what"), "value:") {
		value = url.PathEscape(value) // spaces separate changes
	}
	return &pageResult{to: PlanAddress(schedule.PlanRequest{
		ControlPlane: controlPlane, Environment: q.PathValue("name"), WhatIf: strings.ReplaceAll(q.text("what")+"/"+q.text("key")+"="+value, " ", "%20"),
	})}, nil
}
