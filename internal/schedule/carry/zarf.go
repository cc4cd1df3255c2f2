package carry

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// zarfName is the file that "zarf package create" looks for in a folder.
const zarfName = "zarf.yaml"

// maxZarfName is the maximum length of the name of manifests or of a chart, in bytes: ZarfMaxChartNameLength in
// src/internal/api/v1alpha1/validate.go of Zarf, which its JSON schema does not have.
const maxZarfName = 40

// ZarfPackages returns the files of a folder for "zarf package create" for each assignment that has a package of Zarf, by path:
//
//	<target>/zarf.yaml              the description on the GitOps branch, completed
//	<target>/namespace.yaml ...     the other files of the assignment, which the package deploys first
//	<target>/manifests/...          manifests of a folder that is not a kustomization
//	clusters/<cluster>/<target>/... the same for a cluster that has a folder of its own
//
// The GitOps branch names branches and tags of applications and does not know what they contain: its files are a function of the control
// plane alone. A bundle is made of fixed commits, so its packages list the images of the manifests, and name commits instead.
func (p *Packer) ZarfPackages(ctx context.Context, m *Manifest, assignments []Assignment) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, a := range assignments {
		text, ok := a.Files[zarfName]
		if !ok {
			continue
		}
		var o map[string]any
		if err := fleet.UnmarshalYAML(text, &o); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", zarfName, a.Name(), err)
		}
		z := &zarfPackage{Packer: p, m: m, assignment: a, files: files}
		if err := z.complete(ctx, o); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", zarfName, a.Name(), err)
		}
		out, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		files[path.Join(a.Name(), zarfName)] = out
	}
	return files, nil
}

// zarfPackage is the folder of one package.
type zarfPackage struct {
	*Packer
	m          *Manifest
	assignment Assignment
	files      map[string][]byte
	folders    int
}

// complete adds the images and the other files of the assignment to the first component, and fixes the commits of kustomizations.
func (z *zarfPackage) complete(ctx context.Context, o map[string]any) error {
	components, _ := o["components"].([]any)
	for i, c := range components {
		component, ok := c.(map[string]any)
		if !ok {
			continue
		}
		manifests, _ := component["manifests"].([]any)
		for _, v := range manifests {
			if one, ok := v.(map[string]any); ok {
				if err := z.manifests(ctx, one); err != nil {
					return err
				}
			}
		}
		if i > 0 {
			continue
		}
		if own := z.own(); len(own) > 0 {
			component["manifests"] = slices.Insert(manifests, 0, any(map[string]any{"name": platformName(z.assignment.Target, manifests), "files": own}))
		}
		at := slices.IndexFunc(z.m.Targets, func(t Target) bool { return t.Name == z.assignment.Name() })
		if at >= 0 && len(z.m.Targets[at].Images) > 0 {
			component["images"] = z.m.Targets[at].Images
		}
	}
	return nil
}

// platformName returns the name of the manifests with the other files of an assignment, which differs from those that its component has.
func platformName(target string, manifests []any) string {
	name := target
	for {
		name += "-platform"
		short := fleet.Shorten(name, maxZarfName)
		if !slices.ContainsFunc(manifests, func(v any) bool {
			one, _ := v.(map[string]any)
			return one["name"] == short
		}) {
			return short
		}
	}
}

// own adds the other files of the assignment, and returns their names.
func (z *zarfPackage) own() []string {
	var names []string
	for name, content := range z.assignment.Files {
		if name != zarfName && path.Ext(name) == ".yaml" {
			z.files[path.Join(z.assignment.Name(), name)] = content
			names = append(names, name)
		}
	}
	slices.Sort(names) // the namespace comes before the configuration
	return names
}

// manifests replaces the branches in a collection of manifests.
func (z *zarfPackage) manifests(ctx context.Context, one map[string]any) error {
	listed, _ := one["kustomizations"].([]any)
	var kustomizations []any
	local, _ := one["files"].([]any)
	for _, k := range listed {
		s, ok := remoteKustomization(fmt.Sprint(k))
		ref, known := z.at(ctx, s)
		if !ok || !known {
			kustomizations = append(kustomizations, k)
			continue
		}
		folder, err := s.folder()
		if err != nil {
			return err
		}
		files, err := z.Repositories.Files(ctx, s.repository, ref, folder)
		if err != nil {
			return err
		}
		if hasKustomization(files, folder) {
			address, _, _ := strings.Cut(fmt.Sprint(k), "?")
			kustomizations = append(kustomizations, address+"?ref="+ref.Commit)
			continue
		}
		local = append(local, z.copy(files, folder)...)
	}
	delete(one, "kustomizations")
	if len(kustomizations) > 0 {
		one["kustomizations"] = kustomizations
	}
	if len(local) > 0 {
		one["files"] = local
	}
	return nil
}

// at returns the commit of a source in the bundle.
func (z *zarfPackage) at(ctx context.Context, s source) (Reference, bool) {
	found, err := z.resolve(ctx, s)
	if err != nil {
		return Reference{}, false // it is in Manifest.Missing
	}
	for _, r := range z.m.Repositories {
		for _, ref := range r.References {
			if z.Repositories.Same(r.URL, s.repository) && ref.Name == found.Name {
				return ref, true
			}
		}
	}
	return Reference{}, false
}

// copy adds manifests of a folder, and returns their paths in the package.
func (z *zarfPackage) copy(files []chart.File, folder string) []any {
	var names []any
	z.folders++
	for _, f := range files {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(f.Path)) && !f.Symlink {
			name := path.Join("manifests", fmt.Sprint(z.folders), strings.TrimPrefix(f.Path, joined(folder)))
			z.files[path.Join(z.assignment.Name(), name)] = f.Content
			names = append(names, name)
		}
	}
	return names
}
