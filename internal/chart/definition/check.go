package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// check says what is wrong with a delivery, all at once. The rules are those of its custom resource definition,
// and those that only hold for files in Git.
func check(d *app.Delivery) []string {
	var c checker
	c.label("the name", d.Name, true)
	s := d.Spec
	c.label("workload", s.Workload, false)
	c.label("release", s.Release, false)
	rendered := 0
	for _, is := range []bool{s.Chart != nil, s.Kustomization != "", s.Manifests != "", len(s.Services) > 0} {
		if is {
			rendered++
		}
	}
	if rendered > 1 {
		c.say("only one of chart, kustomization, manifests and services is rendered")
	}
	if s.Chart != nil {
		c.chart("chart", *s.Chart)
	}
	for name, p := range map[string]string{
		"kustomization": s.Kustomization, "manifests": s.Manifests, "config.path": s.Config.Path,
		"config.schema": s.Config.Schema, "gitops.path": s.GitOps.Path,
	} {
		c.path(name, p)
	}
	for _, t := range s.Config.Targets {
		c.label("config.targets: the name", t.Name, true)
		c.path("config.targets: the folder of "+t.Name, t.Folder)
	}
	for _, service := range s.Services {
		c.problems = append(c.problems, checkService(service)...)
	}
	c.environments(s.Environments)
	slices.Sort(c.problems)
	return c.problems
}

func checkService(s app.Service) []string {
	var c checker
	c.label("the name of a service", s.Name, true)
	c.label("namespace of service "+s.Name, s.Namespace, false)
	c.chart("the chart of service "+s.Name, s.Chart)
	return c.problems
}

type checker struct{ problems []string }

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) label(what, name string, required bool) {
	if name == "" && !required {
		return
	}
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		c.say("%s %.100q is not a DNS label: at most 63 lower-case letters, digits and dashes", what, name)
	}
}

func (c *checker) path(what, p string) {
	if _, err := fleet.CleanPath(p); err != nil {
		c.say("%s: %v", what, err)
	}
}

func (c *checker) chart(what string, chart app.Chart) {
	remote := chart.Repository != "" || chart.Name != "" || chart.Version != ""
	switch {
	case chart.Path != "" && remote:
		c.say("%s has a path in the source, or a repository, name and version; not both", what)
	case chart.Path != "":
		c.path(what, chart.Path)
	case chart.Repository == "" || chart.Version == "":
		c.say("%s has neither a path in the source, nor a repository and a version", what)
	case !strings.HasPrefix(chart.Repository, "oci://") && chart.Name == "":
		c.say("%s has no name", what)
	}
}

// environments checks the chain: known names, each once, and no environment after itself.
func (c *checker) environments(chain []app.Environment) {
	after := map[string][]string{}
	for _, e := range chain {
		c.label("environment", e.Name, true)
		if _, twice := after[e.Name]; twice {
			c.say("environment %q is there twice", e.Name)
		}
		after[e.Name] = nil
		if e.Promotion != nil {
			after[e.Name] = e.Promotion.After
		}
	}
	for _, e := range chain {
		for _, before := range after[e.Name] {
			if _, known := after[before]; !known {
				c.say("environment %q comes after %q, which is none of the environments", e.Name, before)
			}
		}
		if reaches(after, e.Name, e.Name, map[string]bool{}) {
			c.say("environment %q comes after itself", e.Name)
		}
	}
}

// reaches reports whether one environment comes, over however many others, after another one.
func reaches(after map[string][]string, from, to string, seen map[string]bool) bool {
	seen[from] = true
	return slices.ContainsFunc(after[from], func(before string) bool {
		return before == to || !seen[before] && reaches(after, before, to, seen)
	})
}
