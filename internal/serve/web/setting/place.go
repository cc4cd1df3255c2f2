package setting

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// maxFor limits the targets that a form names.
const maxFor = 5

// application returns the form of a target or folder of an application.
func (s *service) application(r *request) (*view, error) {
	name, environment := r.PathValue("name"), r.given.Get("environment")
	query := url.Values{}
	for _, key := range []string{"target", "folder", "subject"} {
		if value := r.given.Get(key); value != "" {
			query.Set(key, value)
		}
	}
	operation := "/applications/" + url.PathEscape(name) + "/environments/" + url.PathEscape(environment) + "/values"
	var f api.ApplicationForm
	if err := api.Call(s.API, r.Request, operation+"?"+query.Encode(), nil, &f); err != nil {
		return nil, err
	}
	query.Set("environment", environment)
	page := "/workloads/" + url.PathEscape(name)
	at := func(key, value string) string {
		q := url.Values{"environment": {environment}, key: {value}}
		if subject := query.Get("subject"); subject != "" {
			q.Set("subject", subject)
		}
		return page + "/values?" + q.Encode()
	}
	v := &view{
		Value: &f, Title: "Values of " + name + " in " + environment, Section: "/workloads", Here: page + "/values?" + query.Encode(), Back: page, BackName: name,
		Action: page + "/values", Chosen: f.File != "", File: f.File, Branch: f.Branch, Repository: f.Repo, More: f.More, MaySet: f.MaySet, Problems: f.Problems,
		words: []string{"app", "config", "set", "-e", environment, "--source", f.Source},
	}
	for _, key := range []string{"environment", "target", "folder", "subject"} {
		if value := query.Get(key); value != "" {
			v.Hidden = append(v.Hidden, web.Link{Name: key, Address: value})
		}
	}
	targets, folders := places{Name: "Targets"}, places{Name: "Folders: all targets below them"}
	for _, t := range f.AllTargets {
		targets.Links = append(targets.Links, web.Link{Name: t, Address: at("target", t)})
	}
	for _, t := range f.AllFolders {
		folders.Links = append(folders.Links, web.Link{Name: strings.Replace(t, ".", "all targets", 1), Address: at("folder", t)})
	}
	v.Places = []places{targets, folders}
	switch {
	case f.Target != "":
		v.Title = "Values of " + f.Target
		v.words = append(v.words, "--target", f.Target)
	case f.Folder != "":
		v.words = append(v.words, "--folder", f.Folder)
	}
	v.For = named(f.Targets)
	for i := range f.Fields {
		v.Fields = append(v.Fields, applicationField(&f, i))
	}
	v.missingFirst()
	v.Extra = &field{ID: "extra"}
	v.set = func(message string, preview bool) (*done, error) {
		body := api.SetApplicationValues{Target: f.Target, Folder: f.Folder, SetOptions: api.SetOptions{Message: message, Preview: preview}}
		for _, c := range v.changed {
			if c.Remove {
				body.Remove = append(body.Remove, c.Key)
			} else {
				body.Values = append(body.Values, api.ApplicationValue{Key: c.Key, Value: c.value})
			}
		}
		var result api.SetApplicationResult
		address := operation
		if subject := query.Get("subject"); subject != "" {
			address += "?subject=" + url.QueryEscape(subject)
		}
		err := api.Call(s.API, r.Request, address, body, &result)
		d := &done{Same: result.Commit == "", ValuesPlace: result.ValuesPlace, problems: result.Problems}
		for _, t := range result.Targets {
			row := target{Name: t.Name, Restarts: t.Restarts, Configs: t.Configs}
			for _, c := range t.Values {
				one := change{Key: c.Key, Was: shown(c.Old), Is: shown(c.New)}
				for _, o := range t.Over[c.Key] {
					one.Over = append(one.Over, o.From.String()+": "+o.Value)
				}
				if c.New != nil && slices.Contains(body.Remove, c.Key) {
					one.From = c.From.String()
				}
				row.Values = append(row.Values, one)
			}
			d.Targets = append(d.Targets, row)
		}
		return d, err
	}
	return v, nil
}

func applicationField(f *api.ApplicationForm, i int) *field {
	x := f.Fields[i]
	c := &field{
		Field: x.Field, Was: x.Value, Set: x.Set, Own: x.Own, Expression: x.Expression, Hidden: x.Hidden,
		Locked: !f.MaySet || !x.MayEdit || x.ReadOnly, Editors: strings.Join(x.Editors, ", "),
	}
	if x.Missing {
		c.Missing = "Required, and not set"
	}
	if x.Set {
		c.From = x.From.File
		c.At = x.From.String()
		if x.From.Source == "source" {
			c.At += " of the source"
		}
	}
	for _, o := range x.Over {
		c.Over = append(c.Over, o.From.String()+": "+o.Value)
	}
	if len(c.Over) > 0 {
		c.Then = c.Over[0]
	}
	return c.prepare(i)
}

// platform returns the form of a ConfigMap of an environment.
func (s *service) platform(r *request) (*view, error) {
	name := r.PathValue("name")
	query := url.Values{}
	for _, key := range []string{"configMap", "controlPlane"} {
		if value := r.given.Get(key); value != "" {
			query.Set(key, value)
		}
	}
	operation := "/environments/" + url.PathEscape(name) + "/values"
	var f api.PlatformForm
	if err := api.Call(s.API, r.Request, operation+"?"+query.Encode(), nil, &f); err != nil {
		return nil, err
	}
	query.Set("controlPlane", f.ControlPlane)
	page := "/environments/" + url.PathEscape(name)
	v := &view{
		Value: &f, Title: "Platform configuration of " + name, Section: "/", Here: page + "/values?" + query.Encode(), Back: page + "?controlPlane=" + url.QueryEscape(f.ControlPlane), BackName: name,
		Action: page + "/values", Chosen: f.File != "", File: f.File, Branch: f.Branch, Repository: f.Repo, More: f.More, MaySet: f.MaySet,
		words: []string{"config", "set", "-e", name, "--control-plane", f.ControlPlane, f.ConfigMap},
	}
	for _, key := range []string{"configMap", "controlPlane"} {
		if value := query.Get(key); value != "" {
			v.Hidden = append(v.Hidden, web.Link{Name: key, Address: value})
		}
	}
	maps := places{Name: "ConfigMaps"}
	for _, c := range f.ConfigMaps {
		q := url.Values{"configMap": {c.Name}, "controlPlane": {f.ControlPlane}}
		maps.Links = append(maps.Links, web.Link{Name: c.Name, Address: page + "/values?" + q.Encode()})
	}
	v.Places = []places{maps}
	if v.Chosen {
		v.Title = "Values of " + f.ConfigMap
		v.For = fmt.Sprintf("%d assignments in %s", f.Assignments, name)
		if f.Assignments == 1 {
			v.For = "1 assignment in " + name
		}
	}
	for i := range f.Fields {
		v.Fields = append(v.Fields, platformField(&f, i))
	}
	v.missingFirst()
	v.set = func(message string, preview bool) (*done, error) {
		body := api.SetPlatformValues{ConfigMap: f.ConfigMap, SetOptions: api.SetOptions{Message: message, Preview: preview}}
		for _, c := range v.changed {
			if c.Remove {
				body.Remove = append(body.Remove, c.Key)
				continue
			}
			text := c.Input
			if c.value != nil && !c.literal { // a value in a map
				text = textOf(c.value)
				if value, ok := c.value.(string); ok {
					text = textOf([]string{value})[1 : len(textOf([]string{value}))-1]
				}
			}
			body.Values = append(body.Values, api.PlatformValue{Key: c.Key, Value: text})
		}
		var result api.SetPlatformResult
		err := api.Call(s.API, r.Request, operation+"?controlPlane="+url.QueryEscape(f.ControlPlane), body, &result)
		d := &done{Same: result.Commit == "", ValuesPlace: result.ValuesPlace, problems: result.Problems}
		if result.Plan != nil {
			shown := trial.Of(result.Plan, result.Problems)
			d.Plan = &shown
		}
		return d, err
	}
	return v, nil
}

func platformField(f *api.PlatformForm, i int) *field {
	x := f.Fields[i]
	c := &field{
		Field: x.Field.Field, Was: x.Value, Set: x.Set, Own: x.Set, Hidden: x.Hidden, literal: !x.Nested,
		Locked: !f.MaySet || !x.MayEdit || x.ReadOnly, Editors: strings.Join(x.Editors, ", "),
	}
	if x.Missing > 0 {
		c.Missing = fmt.Sprintf("Required, and missing in %d of %d assignments", x.Missing, f.Assignments)
	}
	if x.Set {
		c.From, c.At = x.Position.File, x.Position.String()
	}
	for _, o := range x.Over {
		c.Over = append(c.Over, o.ConfigMap+": "+o.Value)
	}
	c.Then = strings.Join(c.Over, ", or ")
	for _, by := range x.By {
		c.By = append(c.By, by.ConfigMap)
	}
	return c.prepare(i)
}

// missingFirst sorts required values that are not set first.
func (v *view) missingFirst() {
	slices.SortStableFunc(v.Fields, func(a, b *field) int {
		return cmp.Compare(btoi(a.Missing == ""), btoi(b.Missing == ""))
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// named lists the first names.
func named(names []string) string {
	text := fmt.Sprintf("%d targets: ", len(names))
	if len(names) == 1 {
		text = "the target "
	}
	if more := len(names) - maxFor; more > 0 {
		return text + strings.Join(names[:maxFor], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return text + strings.Join(names, ", ")
}

func shown(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}
