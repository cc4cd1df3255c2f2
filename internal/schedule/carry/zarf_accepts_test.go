package carry_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// zarfDescription is a package as far as [zarfRefuses] reads it.
type zarfDescription struct {
	Components []struct {
		Name              string
		Required, Default bool
		Images            []string
		Charts            []struct{ Name, ReleaseName, Namespace, URL, LocalPath, Version string }
		Manifests         []struct {
			Name                  string
			Files, Kustomizations []string
		}
	}
}

// zarfRefuses returns why "zarf package create" refuses a package that its JSON schema allows. The rules are those of ValidatePackage in
// src/internal/api/v1alpha1/validate.go of https://github.com/zarf-dev/zarf (97a1b4d), which cannot be imported: it is internal there.
func zarfRefuses(text []byte) (why []string) {
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	const most = 40 // ZarfMaxChartNameLength
	var p zarfDescription
	if err := yaml.Unmarshal(text, &p); err != nil || len(p.Components) == 0 {
		say("no components: %v", err)
	}
	components := map[string]bool{}
	for _, c := range p.Components {
		if components[c.Name] {
			say("two components %q", c.Name)
		}
		components[c.Name] = true
		if c.Required && c.Default {
			say("component %q is required and default", c.Name)
		}
		names := map[string]bool{}
		for _, m := range c.Manifests {
			if names[m.Name] || len(m.Name) > most || len(m.Files)+len(m.Kustomizations) == 0 {
				say("manifests %q: there are others of this name, it has more than %d characters, or there are no files", m.Name, most)
			}
			names[m.Name] = true
		}
		charts := map[string]bool{}
		for _, chart := range c.Charts {
			if charts[chart.Name] || len(chart.Name) > most || chart.Namespace == "" || (chart.URL == "") == (chart.LocalPath == "") {
				say("chart %+v: there is another of this name, it has more than %d characters, or no namespace or source", chart, most)
			}
			charts[chart.Name] = true
			if chart.LocalPath == "" && chart.Version == "" {
				say("chart %q has no version", chart.Name)
			}
			if errs := validation.IsDNS1035Label(cmp.Or(chart.ReleaseName, chart.Name)); len(errs) > 0 {
				say("chart %q: %s", chart.Name, errs)
			}
		}
	}
	return why
}

// TestZarfAcceptsPackages of a bundle, for all targets of the examples and for generated names.
func TestZarfAcceptsPackages(t *testing.T) {
	examples := exampleTargets(t)
	if len(examples) < 5 {
		t.Fatalf("the examples have only the targets %q", examples)
	}
	for _, target := range examples {
		for _, storage := range []string{"git", "oci", "helm"} {
			checkZarf(t, "large", target, storage, "shop")
		}
	}
	label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		storage := rapid.SampledFrom([]string{"git", "oci", "helm"}).Draw(t, "storage")
		chart := rapid.OneOf(label, rapid.StringMatching(`[A-Za-z0-9._-]{1,80}`)).Draw(t, "chart")
		checkZarf(t, label.Draw(t, "type"), label.Draw(t, "target"), storage, chart)
	})
}

// checkZarf renders the built-in template for a target, completes it as a bundle does, and checks it.
func checkZarf(t rapid.TB, clusterType, target, storage, chart string) {
	t.Helper()
	manifests := map[string]string{"repo": "https://git.example.org/shop", "storage": storage}
	if storage != "git" {
		manifests["chart"], manifests["version"] = chart, "1.2.0"
	}
	library, _ := render.NewLibrary(&fleet.Snapshot{}, nil)
	template, _ := library.Find(scheduler.ReconcilerTemplate, "zarf")
	d := render.NewData("dev", &fleet.ClusterType{Name: clusterType}, &fleet.Target{Name: target, Workload: "shop", Manifests: manifests})
	text, _, err := library.Worker().Render(template, &d)
	if err != nil {
		t.Fatal(err)
	}
	assignment := carry.Assignment{Target: target, Files: map[string][]byte{"zarf.yaml": text, "namespace.yaml": []byte("kind: Namespace\n")}}
	m := &carry.Manifest{Targets: []carry.Target{{Name: assignment.Name(), Images: []string{"registry.example/shop:1"}}}}
	files, err := (&carry.Packer{Repositories: repositories{}, Registries: registries{}, Renderer: renderer{}}).ZarfPackages(context.Background(), m, []carry.Assignment{assignment})
	if err != nil {
		t.Fatal(err)
	}
	made := files[assignment.Name()+"/zarf.yaml"]
	if why := zarfRefuses(made); len(why) > 0 {
		t.Errorf("%s\n%s", strings.Join(why, "\n"), made)
	}
	validate(t, made)
}

// exampleTargets are the names of all targets of the examples' workloads, as they are assigned.
func exampleTargets(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("../../../examples", func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var w scheduler.Workload
		if yaml.Unmarshal(text, &w) != nil || w.Kind != "Workload" {
			return nil // another document, or several
		}
		for _, target := range w.Spec.DeploymentTargets {
			names = append(names, fleet.TargetName(w.Name, target.Name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
