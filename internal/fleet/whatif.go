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

// WhatIf returns the snapshot with changes, in their order. The snapshot itself stays as it is. The error for a name that does
// not exist suggests a similar one.
func (s *Snapshot) WhatIf(changes []WhatIf) (*Snapshot, error) {
	if len(changes) == 0 {
		return s, nil
	}
	imagined := *s
	for _, w := range changes {
		if err := w.apply(&imagined); err != nil {
			return nil, fmt.Errorf("what if %s: %w", w, err)
		}
	}
	return &imagined, nil
}

func (w WhatIf) apply(s *Snapshot) (err error) {
	switch w.kind {
	case "clusterType":
		s.ClusterTypes, err = imagine(w, s.ClusterTypes, "cluster type", func(ct *ClusterType) []string { return []string{ct.Name} }, w.clusterType)
		if w.absent && err == nil {
			s.Clusters = slices.DeleteFunc(slices.Clone(s.Clusters), func(c *Cluster) bool { return c.Type == w.name })
		}
	case "cluster":
		s.Clusters, err = imagine(w, s.Clusters, "Cluster object", func(c *Cluster) []string { return []string{c.Name} }, func(c *Cluster) {
			c.Labels = w.labels(c.Labels)
			c.Digest = c.Digest.with([]string{w.text})
		})
	case "target":
		s.Targets, err = imagine(w, s.Targets, "target", func(t *Target) []string { return []string{t.String(), t.Name} }, func(t *Target) {
			t.Labels = w.labels(t.Labels)
			t.Digest = t.Digest.with([]string{w.text})
		})
	case "configMap":
		for _, c := range s.Configs {
			if c.Name == w.name && (c.Expressions || c.Store) {
				return errors.New("its values are expressions, or those of a store: only text can be imagined")
			}
		}
		s.Configs, err = imagine(w, s.Configs, "ConfigMap with platform configuration", func(c *ConfigMap) []string { return []string{c.Name} }, w.configMap)
	case "policy":
		s.Policies, err = imagine(w, s.Policies, "policy", func(p *Policy) []string { return []string{p.Name} }, nil)
	}
	return err
}

// imagine returns the list without the named object, or with a changed copy of it.
func imagine[T any](w WhatIf, list []*T, noun string, names func(*T) []string, change func(*T)) ([]*T, error) {
	var known []string
	for i, o := range list {
		if !slices.Contains(names(o), w.name) {
			known = append(known, names(o)...)
			continue
		}
		if w.absent {
			return slices.Delete(slices.Clone(list), i, i+1), nil
		}
		changed := *o
		change(&changed)
		list = slices.Clone(list)
		list[i] = &changed
		return list, nil
	}
	if near := didYouMean(w.name, known); near != "" {
		return nil, fmt.Errorf("the environment has no %s %s: %s", noun, quoteShort(w.name), near)
	}
	return nil, fmt.Errorf("the environment has no %s %s", noun, quoteShort(w.name))
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

func (w WhatIf) clusterType(ct *ClusterType) {
	ct.Digest = ct.Digest.with([]string{w.text})
	switch w.what {
	case "label":
		ct.Labels = w.labels(ct.Labels)
	case "capacity":
		ct.Capacity = maps.Clone(ct.Capacity)
		if w.value == "" {
			delete(ct.Capacity, w.key)
			return
		}
		if ct.Capacity == nil {
			ct.Capacity = map[string]resource.Quantity{}
		}
		ct.Capacity[w.key] = w.quantity
	case "taint":
		ct.Taints = slices.DeleteFunc(slices.Clone(ct.Taints), func(t v1alpha1.Taint) bool { return t.Key == w.key })
		if w.value != "" {
			ct.Taints = append(ct.Taints, v1alpha1.Taint{Key: w.key, Effect: v1alpha1.TaintEffect(w.value)})
		}
	}
}

// configMap changes a value. It stays where it was written; a new one has no line.
func (w WhatIf) configMap(c *ConfigMap) {
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
}
