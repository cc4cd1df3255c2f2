package schedule

import (
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// Form is what a user must know to set values of a ConfigMap with platform configuration.
type Form struct {
	Environment string `json:"environment"`
	ConfigMap   string `json:"configMap,omitempty"`
	// Repo, Branch and Base are the repository, branch and commit that the values were read at, File the file.
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
	File   string `json:"file,omitempty"`
	// Labels say where the ConfigMap applies.
	Labels map[string]string `json:"labels,omitempty"`
	// Assignments is how many assignments it applies to.
	Assignments int `json:"assignments"`
	// Fields are its values and those of the schemas, by key. More means that there are others.
	Fields []FormField `json:"fields"`
	More   bool        `json:"more,omitempty"`
	// ConfigMaps are those of the environment's branch.
	ConfigMaps []FormConfigMap `json:"configMaps"`
}

// FormConfigMap is a ConfigMap that has a form.
type FormConfigMap struct {
	Name   string            `json:"name"`
	File   string            `json:"file"`
	Labels map[string]string `json:"labels,omitempty"`
}

// FormField is a value of a ConfigMap.
type FormField struct {
	config.Field
	// Hidden means that the value is not shown because it looks like a credential.
	Hidden bool `json:"hidden,omitempty"`
	// Over are the values of other ConfigMaps that it overrides somewhere, one for each; By are those that override it.
	Over []config.Overridden `json:"over,omitempty"`
	By   []config.Layer      `json:"by,omitempty"`
	// Missing is how many assignments lack the value, which is required.
	Missing int `json:"missing,omitempty"`
	// MayEdit tells whether the author may set it.
	MayEdit bool `json:"mayEdit"`
}

// maxFormConfigurations is the maximum number of different configurations that a form compares.
const maxFormConfigurations = 200

// Form returns the values of a ConfigMap on the environment's branch and what they override; without a name the list of ConfigMaps.
func (d *Draft) Form(name string, author editing.Author) (*Form, error) {
	s, in := d.Loaded.Snapshot, d.Loaded.Inputs.Branch
	f := &Form{
		Environment: s.Environment, ConfigMap: name, Repo: in.Repo, Branch: in.Branch, Base: in.Commit, Fields: []FormField{}, ConfigMaps: []FormConfigMap{},
	}
	var chosen *fleet.ConfigMap
	for _, c := range s.Configs {
		if c.Name == name {
			chosen = c
		}
		if c.Position.Source == s.Environment {
			f.ConfigMaps = append(f.ConfigMaps, FormConfigMap{Name: c.Name, File: c.Position.File, Labels: c.Labels})
		}
	}
	if name == "" {
		return f, nil
	}
	at, err := editable(s, SetRequest{Request: Request{Environment: s.Environment}, ConfigMap: name})
	if err != nil {
		return nil, err
	}
	f.File, f.Labels = at.File, chosen.Labels
	fields, more, err := config.Fields(s, chosen)
	if err != nil {
		return nil, err
	}
	use := d.useOf(name)
	f.Assignments, f.More = use.assignments, more
	for _, one := range fields {
		field := FormField{Field: one, MayEdit: config.MayEdit(s, chosen, author, one.Path)}
		if hidden := check.RedactValue(one.Key, one.Value); one.Set && (one.Secret || hidden != one.Value) {
			field.Value, field.Hidden = "", true
		}
		field.Over, field.By = use.over[one.Key], use.by[one.Key]
		for i := range field.Over {
			field.Over[i].Value = check.RedactValue(one.Key, field.Over[i].Value)
		}
		if one.Required && len(one.Path) > 0 {
			field.Missing = use.without(one.Path[0])
		}
		f.Fields = append(f.Fields, field)
	}
	return f, nil
}

// configMapUse is what a ConfigMap does in the assignments that it applies to.
type configMapUse struct {
	assignments int
	// over are the values that its values override, and by the layers that override them, by key.
	over map[string][]config.Overridden
	by   map[string][]config.Layer
	// composed are the different configurations, with the number of their assignments.
	composed map[*config.Composed]int
}

func (d *Draft) useOf(name string) *configMapUse {
	u := &configMapUse{over: map[string][]config.Overridden{}, by: map[string][]config.Layer{}, composed: map[*config.Composed]int{}}
	if d.Bundle == nil {
		return u
	}
	var order []*config.Composed
	for _, folder := range d.Bundle.Folders {
		for i := range folder.Assignments {
			c := folder.Assignments[i].Config
			if c == nil || c.Layers == nil || !slices.Contains(c.Layers.Names(), name) {
				continue
			}
			if u.assignments++; u.composed[c] == 0 {
				order = append(order, c)
			}
			u.composed[c]++
		}
	}
	for _, c := range order[:min(len(order), maxFormConfigurations)] {
		for _, k := range c.Keys() {
			u.add(name, k)
		}
	}
	return u
}

// add notes what the ConfigMap does in the value of a configuration.
func (u *configMapUse) add(name string, k config.Key) {
	if k.From.ConfigMap == name {
		for _, o := range k.Over {
			if !slices.ContainsFunc(u.over[k.Path], func(known config.Overridden) bool { return known.ConfigMap == o.ConfigMap }) {
				u.over[k.Path] = append(u.over[k.Path], o)
			}
		}
		return
	}
	loses := slices.ContainsFunc(k.Over, func(o config.Overridden) bool { return o.ConfigMap == name })
	if loses && !slices.ContainsFunc(u.by[k.Path], func(l config.Layer) bool { return l.ConfigMap == k.From.ConfigMap }) {
		u.by[k.Path] = append(u.by[k.Path], k.From)
	}
}

// without counts the assignments that lack a value.
func (u *configMapUse) without(key string) int {
	n := 0
	for c, count := range maps.All(u.composed) {
		if _, ok := c.Data[key]; !ok {
			n += count
		}
	}
	return n
}
