package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// WhatIf is one imagined change of a snapshot.
type WhatIf struct {
	text             string
	kind, name       string // of the object
	what, key, value string // what is changed: "", or "label", "capacity", "taint" or "value"
	quantity         resource.Quantity
	absent           bool
}

// String returns the change as it was written.
func (w WhatIf) String() string { return w.text }

// ReadableWhatIf returns a change for users: with spaces, as what it stands for. Other texts are returned unchanged.
func ReadableWhatIf(text string) string {
	w, err := ParseWhatIf(text)
	if err != nil || w.what != "value" {
		return text
	}
	return "value:" + w.name + "/" + w.key + "=" + w.value
}

// whatIfKinds are the kinds of objects that can be absent, and have labels, as they are written.
var whatIfKinds = []string{"clusterType", "cluster", "target", "policy"}

const whatIfUsage = "write KIND:NAME=absent, label:KIND/NAME/KEY=VALUE, capacity:CLUSTERTYPE/RESOURCE=QUANTITY, taint:CLUSTERTYPE/KEY=EFFECT or value:CONFIGMAP/KEY=VALUE"

const whatIfKey = "the key is missing: name the label, the resource, the taint or the value that changes"

// ParseWhatIf parses a change:
//
//	clusterType:west-1=absent               also target, policy and cluster
//	label:clusterType/west-1/region=north   also target and cluster; without a value, the label is absent
//	capacity:west-1/cpu=100                 without a value, there is no limit
//	taint:west-1/maintenance=NoSchedule     without an effect, the taint is absent
func ParseWhatIf(text string) (WhatIf, error) {
	w := WhatIf{text: text}
	what, rest, _ := strings.Cut(text, ":")
	place, value, found := strings.Cut(rest, "=")
	if !found || len(text) > 1024 {
		return w, fmt.Errorf("%s: %s", quoteShort(text), whatIfUsage)
	}
	var err error
	switch what {
	case "label":
		err = w.parseLabel(place, value)
	case "capacity", "taint", "value":
		w.kind, w.what = "clusterType", what
		if what == "value" {
			w.kind = "configMap"
		}
		switch w.name, w.key, found = strings.Cut(place, "/"); {
		case found && w.name != "" && w.key == "":
			return w, fmt.Errorf("%s: %s", quoteShort(text), whatIfKey)
		case !found || w.name == "":
			return w, fmt.Errorf("%s: %s", quoteShort(text), whatIfUsage)
		}
		err = w.parseValue(value)
	default:
		if !slices.Contains(whatIfKinds, what) || value != "absent" || place == "" {
			return w, fmt.Errorf("%s: %s", quoteShort(text), whatIfUsage)
		}
		w.kind, w.name, w.absent = what, place, true
	}
	if err != nil {
		return w, fmt.Errorf("%s: %w", quoteShort(text), err)
	}
	return w, nil
}

func (w *WhatIf) parseLabel(place, value string) error {
	parts := strings.SplitN(place, "/", 3)
	switch {
	case len(parts) < 3 || !slices.Contains(whatIfKinds, parts[0]) || parts[0] == "policy":
		return errors.New(whatIfUsage)
	case parts[2] == "":
		return errors.New(whatIfKey)
	}
	w.what, w.kind, w.name, w.key, w.value = "label", parts[0], parts[1], parts[2], value
	if errs := slices.Concat(validation.IsQualifiedName(w.key), validation.IsValidLabelValue(value)); len(errs) > 0 {
		return fmt.Errorf("%s", strings.Join(errs, "; "))
	}
	if w.kind == "target" && (w.key == workloadLabel || w.key == workspaceLabel) {
		return fmt.Errorf("the label %s cannot be changed", w.key)
	}
	return nil
}

func (w *WhatIf) parseValue(value string) (err error) {
	w.value = value
	switch {
	case value == "":
	case w.what == "value":
		// Spaces separate changes, and are written as %20. Users who plan are not trusted with templates.
		if w.value, err = url.PathUnescape(value); err != nil || strings.Contains(w.value, "{{") {
			return errors.New("the value is a text, with %20 for a space and %25 for a percent sign, and no template")
		}
	case w.what == "taint":
		if !slices.Contains(taintEffects, v1alpha1.TaintEffect(value)) {
			return fmt.Errorf("the effect is one of %v", taintEffects)
		}
	default:
		if w.quantity, err = resource.ParseQuantity(value); err != nil {
			return fmt.Errorf("parse the quantity: %w", err)
		}
		if w.quantity.Sign() < 0 || w.quantity.CmpInt64(maxQuantity) > 0 {
			return fmt.Errorf("the quantity is 0 to %d", maxQuantity)
		}
	}
	return nil
}

// WhatIf returns the snapshot with changes, in their order: it is assembled again from documents with these changes, so that everything
// follows that would follow from editing them. The snapshot itself stays as it is. The error for a name that does not exist suggests a
// similar one.
func (s *Snapshot) WhatIf(changes []WhatIf) (*Snapshot, error) {
	imagined := s
	for _, w := range changes {
		w.resolve(imagined)
		err := w.check(imagined)
		if err == nil {
			imagined = imagined.with(w)
			err = w.inherited(imagined)
		}
		if err != nil {
			return nil, fmt.Errorf("what if %s: %w", w, err)
		}
	}
	return imagined, nil
}

// resolve reads the label of a target that is written as its workload and its short name.
func (w *WhatIf) resolve(s *Snapshot) {
	short, key, ok := strings.Cut(w.key, "/")
	if w.kind != "target" || w.what != "label" || !ok {
		return
	}
	if name := w.name + "/" + short; slices.ContainsFunc(s.Targets, func(t *Target) bool { return t.String() == name }) {
		w.name, w.key = name, key
	}
}

// inherited returns an error if a label that should be absent is still there, because something else gives it.
func (w WhatIf) inherited(imagined *Snapshot) error {
	if w.what != "label" || w.value != "" {
		return nil
	}
	for _, t := range imagined.Targets {
		if _, has := t.Labels[w.key]; has && w.kind == "target" && w.names(t) {
			return fmt.Errorf("the label is that of the Workload %s: imagine another value", t.Workload)
		}
	}
	for _, ct := range imagined.ClusterTypes {
		if _, has := ct.Labels[w.key]; has && w.kind == "clusterType" && ct.Name == w.name {
			return errors.New("the label is that of a cluster type that it extends: imagine another value")
		}
	}
	return nil
}

// names reports whether the change is about a target.
func (w WhatIf) names(t *Target) bool { return t.String() == w.name || t.Name == w.name }

// with returns the snapshot of changed documents. It keeps the problems that reading the original documents found.
func (s *Snapshot) with(w WhatIf) *Snapshot {
	imagined := Assemble(w.inputs(s))
	imagined.PromotedCommit, imagined.unreadable = s.PromotedCommit, len(imagined.Unreadable)
	has := func(list []Problem) func(Problem) bool {
		return func(p Problem) bool { return slices.Contains(list, p) }
	}
	solved := slices.DeleteFunc(slices.Clone(s.assembled), has(s.Problems))
	others := slices.DeleteFunc(slices.Clone(s.Problems), has(s.assembled))
	if imagined.Unreadable = append(imagined.Unreadable, s.Unreadable[s.unreadable:]...); s.GitOps == nil {
		imagined.GitOps = nil
	}
	imagined.Problems = SortProblems(append(slices.DeleteFunc(slices.Clone(imagined.Problems), has(solved)), others...))
	return imagined
}

// check returns an error if a snapshot does not have what changes.
func (w WhatIf) check(s *Snapshot) error {
	var names []string
	noun := ""
	switch w.kind {
	case "clusterType":
		noun = "cluster type"
		for _, ct := range s.ClusterTypes {
			names = append(names, ct.Name)
		}
	case "cluster":
		noun = "Cluster object"
		for _, c := range s.Clusters {
			names = append(names, c.Name)
		}
	case "target":
		noun = "target"
		for _, t := range s.Targets {
			names = append(names, t.String(), t.Name)
		}
	case "policy":
		noun = "policy"
		for _, p := range s.Policies {
			names = append(names, p.Name)
		}
	case "configMap":
		noun = "ConfigMap with platform configuration"
		for _, c := range s.Configs {
			if names = append(names, c.Name); c.Name == w.name && (c.Expressions || c.Store) {
				return errors.New("its values are expressions, or those of a store: only text can be imagined")
			}
		}
	}
	if slices.Contains(names, w.name) {
		return nil
	}
	if near := didYouMean(w.name, names); near != "" {
		return fmt.Errorf("the environment has no %s %s: %s", noun, quoteShort(w.name), near)
	}
	return fmt.Errorf("the environment has no %s %s", noun, quoteShort(w.name))
}

// inputs returns the inputs of a snapshot with changed documents.
func (w WhatIf) inputs(s *Snapshot) Inputs {
	in := s.inputs
	change := w.objects
	if w.kind == "target" {
		i := slices.IndexFunc(s.Targets, w.names)
		target := s.Targets[i]
		change = func(o *Objects) *Objects { return w.target(o, target, s.Environment) }
		if fetched, ok := in.Workloads[target.Registration]; ok && fetched.Objects != nil {
			in.Workloads = maps.Clone(in.Workloads)
			fetched.Objects = change(fetched.Objects)
			in.Workloads[target.Registration] = fetched
		}
	}
	in.Main, in.Branch, in.ConfigRepos = change(in.Main), change(in.Branch), maps.Clone(in.ConfigRepos)
	for name, fetched := range in.ConfigRepos {
		if fetched.Objects != nil {
			fetched.Objects = change(fetched.Objects)
			in.ConfigRepos[name] = fetched
		}
	}
	return in
}

// objects returns the objects of a source with the change.
func (w WhatIf) objects(o *Objects) *Objects {
	if o == nil {
		return nil
	}
	c := *o
	switch w.kind {
	case "clusterType":
		c.ClusterTypes = imagine(w, o.ClusterTypes, func(ct Object[v1alpha1.ClusterType]) string { return ct.Value.Name }, w.clusterType)
	case "cluster":
		c.Clusters = imagine(w, o.Clusters, func(c *Cluster) string { return c.Name }, w.cluster)
	case "policy":
		c.Policies = imagine(w, o.Policies, func(p Object[v1alpha1.SchedulingPolicy]) string { return p.Value.Name }, nil)
	case "configMap":
		c.Configs = imagine(w, o.Configs, func(c *ConfigMap) string { return c.Name }, w.configMap)
	}
	return &c
}

// imagine returns the list without the named objects, or with changed copies of them.
func imagine[T any](w WhatIf, list []T, name func(T) string, change func(T) T) []T {
	var changed []T
	for _, o := range list {
		switch {
		case name(o) != w.name:
			changed = append(changed, o)
		case !w.absent:
			changed = append(changed, change(o))
		}
	}
	return changed
}

// target returns the objects of a source with a change of a target.
func (w WhatIf) target(o *Objects, t *Target, environment string) *Objects {
	if o == nil {
		return nil
	}
	c := *o
	c.Targets = nil
	for _, direct := range o.Targets {
		if direct.Value.Name == t.Name && direct.Value.Labels[workloadLabel] == t.Workload {
			if w.absent {
				continue
			}
			direct.Value.Labels = w.labels(direct.Value.Labels)
			direct.Digest = direct.Digest.with([]string{w.text})
		}
		c.Targets = append(c.Targets, direct)
	}
	c.Workloads = slices.Clone(o.Workloads)
	for i := range c.Workloads {
		if c.Workloads[i].Value.Name == t.Workload {
			c.Workloads[i] = w.workload(c.Workloads[i], t, environment)
		}
	}
	return &c
}

// workload returns a Workload with a change of one of its targets.
func (w WhatIf) workload(o Object[v1alpha1.Workload], t *Target, environment string) Object[v1alpha1.Workload] {
	var targets []v1alpha1.WorkloadTarget
	var lines []int
	for i, entry := range o.Value.Spec.DeploymentTargets {
		if entry.Name == t.ShortName && entry.Environment == environment {
			if w.absent {
				continue
			}
			entry.Labels = w.labels(entry.Labels)
		}
		targets, lines = append(targets, entry), append(lines, o.Lines[i])
	}
	o.Value.Spec.DeploymentTargets, o.Lines = targets, lines
	o.Digest = o.Digest.with([]string{w.text})
	return o
}

func (w WhatIf) labels(labels map[string]string) map[string]string {
	changed := overlay(labels)
	if w.value == "" {
		delete(changed, w.key)
	} else {
		changed[w.key] = w.value
	}
	return changed
}

func (w WhatIf) cluster(c *Cluster) *Cluster {
	changed := *c
	changed.Labels = w.labels(c.Labels)
	changed.Digest = c.Digest.with([]string{w.text})
	return &changed
}

func (w WhatIf) clusterType(o Object[v1alpha1.ClusterType]) Object[v1alpha1.ClusterType] {
	o.Digest = o.Digest.with([]string{w.text})
	spec := &o.Value.Spec
	switch w.what {
	case "label":
		o.Value.Labels = w.labels(o.Value.Labels)
	case "capacity":
		capacity := map[string]resource.Quantity{}
		maps.Copy(capacity, spec.Capacity)
		if capacity[w.key] = w.quantity; w.value == "" {
			delete(capacity, w.key)
		}
		spec.Capacity = capacity
	case "taint":
		spec.Taints = slices.DeleteFunc(slices.Clone(spec.Taints), func(t v1alpha1.Taint) bool { return t.Key == w.key })
		if w.value != "" {
			spec.Taints = append(spec.Taints, v1alpha1.Taint{Key: w.key, Effect: v1alpha1.TaintEffect(w.value)})
		}
	}
	return o
}

// configMap changes a value. It stays where it was written; a new one has no line.
func (w WhatIf) configMap(before *ConfigMap) *ConfigMap {
	c := *before
	c.Digest = c.Digest.with([]string{w.text})
	c.Entries = slices.Clone(c.Entries)
	i, found := slices.BinarySearchFunc(c.Entries, w.key, func(e ConfigEntry, key string) int { return cmp.Compare(e.Key, key) })
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: w.value}
	switch {
	case found && w.value == "":
		c.Entries = slices.Delete(c.Entries, i, i+1)
	case found:
		value.Line, value.Column = c.Entries[i].Value.Line, c.Entries[i].Value.Column
		c.Entries[i].Value = value
	case w.value != "":
		c.Entries = slices.Insert(c.Entries, i, ConfigEntry{Key: w.key, Value: value})
	}
	return &c
}
