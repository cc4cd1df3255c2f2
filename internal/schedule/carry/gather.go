package carry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Repositories reads the repositories that clusters follow. All calls of one bundle see the same commits.
type Repositories interface {
	// Resolve returns the branch or tag that a name means: a full name, or one of either; empty is the default branch.
	Resolve(ctx context.Context, repository, name string) (Reference, error)
	// Files returns the files at or below a folder.
	Files(ctx context.Context, repository string, at Reference, folder string) ([]chart.File, error)
	// Bundle writes a Git bundle.
	Bundle(ctx context.Context, repository string, references []Reference, w io.Writer) error
	// Same reports whether two URLs are of the same repository.
	Same(a, b string) bool
}

// Registries copies images and charts into the folder blobs of an image layout.
type Registries interface {
	Image(ctx context.Context, image chart.Image) (Artifact, error)
	// Chart returns the version and files of the chart as well.
	Chart(ctx context.Context, ref app.Chart) (found Artifact, version string, files []chart.File, err error)
}

// Renderer renders charts, which are not trusted.
type Renderer interface {
	Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error)
}

// Assignment is an assignment of the cluster type, or of one of its clusters that has a folder of its own, with the files that the
// GitOps branch has for it.
type Assignment struct {
	// Cluster is the cluster that has a folder of its own; empty for the cluster type.
	Cluster string
	Target  string
	// Files maps names to contents.
	Files map[string][]byte
}

// Name returns the name of the target, or "clusters/<cluster>/<target>".
func (a *Assignment) Name() string {
	if a.Cluster == "" {
		return a.Target
	}
	return fleet.ClusterFolder(a.Cluster) + "/" + a.Target
}

// Request says what to pack.
type Request struct {
	Environment, ClusterType string // required
	// GitOps is the branch that clusters follow, at the published commit. // required
	GitOps GitOps
	// Assignments are those of the cluster type at that commit, and of its clusters that have a folder of their own.
	Assignments []Assignment
	// Made is the time of the bundle. // required
	Made time.Time
}

// Packer packs bundles.
type Packer struct {
	Repositories Repositories // required
	Registries   Registries   // required
	Renderer     Renderer     // required
	// Progress is called with what is about to be fetched; optional.
	Progress func(what string)
}

// Gather fetches everything that a bundle has into a folder, and returns the manifest for [Write]. What cannot be fetched is in
// Manifest.Missing; an error means that the GitOps branch itself cannot be packed.
func (p *Packer) Gather(ctx context.Context, r Request, dir string) (*Manifest, error) {
	g := &gathering{Packer: p, dir: dir, images: map[string]Image{}, charts: map[string]Chart{}, tried: map[string]error{}, read: map[string][]string{}, m: &Manifest{
		Version: version, Environment: r.Environment, ClusterType: r.ClusterType, Made: r.Made.UTC(), GitOps: r.GitOps,
		Targets: []Target{},
	}}
	g.m.GitOps.Repository = withoutPassword(r.GitOps.Repository)
	g.follow(g.m.GitOps.Repository, r.GitOps.reference())
	assignments := slices.Clone(r.Assignments)
	slices.SortFunc(assignments, func(a, b Assignment) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, a := range assignments {
		if err := g.assignment(ctx, a); err != nil {
			return nil, err
		}
	}
	if err := g.bundles(ctx); err != nil {
		return nil, err
	}
	return g.finish()
}

// gathering is one bundle in the making.
type gathering struct {
	*Packer
	dir    string
	m      *Manifest
	images map[string]Image // by reference
	charts map[string]Chart // by reference
	// tried are the errors of images that were tried.
	tried map[string]error
	// read are the images of sources that were read, by target and source: clusters mostly have the sources of their type.
	read map[string][]string
}

func (g *gathering) progress(format string, args ...any) {
	if g.Progress != nil {
		g.Progress(fmt.Sprintf(format, args...))
	}
}

// missing notes what could not be fetched. The end of the context is an error.
func (g *gathering) missing(ctx context.Context, kind, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.m.Missing = append(g.m.Missing, Missing{Kind: kind, Name: name, Reason: err.Error()})
	return nil
}

// withoutPassword returns a URL without credentials. It keeps the user of ssh, which is part of the address.
func withoutPassword(url string) string {
	if strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return secret.Redact(url)
	}
	return url
}

// follow adds a branch or tag of a repository, and returns it. One that is there already keeps its commit.
func (g *gathering) follow(repository string, ref Reference) Reference {
	i := slices.IndexFunc(g.m.Repositories, func(r Repository) bool { return g.Repositories.Same(r.URL, repository) })
	if i < 0 {
		i = len(g.m.Repositories)
		g.m.Repositories = append(g.m.Repositories, Repository{URL: repository})
	}
	r := &g.m.Repositories[i]
	if known := slices.IndexFunc(r.References, func(k Reference) bool { return k.Name == ref.Name }); known >= 0 {
		return r.References[known]
	}
	r.References = append(r.References, ref)
	return ref
}

// assignment adds what an assignment needs.
func (g *gathering) assignment(ctx context.Context, a Assignment) error {
	t := Target{Name: a.Name()}
	for _, name := range slices.Sorted(maps.Keys(a.Files)) {
		ext := path.Ext(name)
		if ext != ".yaml" {
			continue
		}
		own, err := chart.ImagesIn(a.Files[name])
		if err == nil {
			t.Images = append(t.Images, own...)
		}
		if err == nil && isReconciler(name) {
			var found []source
			if found, err = sourcesOf(a.Files[name]); err == nil {
				for _, s := range found {
					key := fmt.Sprintf("%s %+v", a.Target, s)
					if _, known := g.read[key]; !known {
						if g.read[key], err = g.source(ctx, a.Target, s); err != nil {
							return err
						}
					}
					t.Images = append(t.Images, g.read[key]...)
				}
			}
		}
		if err != nil {
			if err := g.missing(ctx, "target", a.Name(), fmt.Errorf("%s: %w", name, err)); err != nil {
				return err
			}
		}
	}
	slices.Sort(t.Images)
	t.Images = slices.Compact(t.Images)
	g.m.Targets = append(g.m.Targets, t)
	for _, image := range t.Images {
		if err := g.image(ctx, image); err != nil {
			return err
		}
	}
	return nil
}

// isReconciler reports whether a file of an assignment has the objects of its reconciler.
func isReconciler(name string) bool { return name == "reconciler.yaml" || name == zarfName }

// source adds a source and returns the images of its manifests.
func (g *gathering) source(ctx context.Context, target string, s source) ([]string, error) {
	s.repository = withoutPassword(s.repository)
	if s.unsure != "" && s.reason == "" {
		if err := g.missing(ctx, "target", target, fmt.Errorf("its images are not known: %s", s.unsure)); err != nil {
			return nil, err
		}
	}
	switch {
	case s.reason != "":
		kind := "repository"
		if s.chart != "" {
			kind = "chart"
		}
		return nil, g.missing(ctx, kind, cmp.Or(s.repository, target), errors.New(s.reason))
	case s.artifact:
		return nil, g.artifact(ctx, s)
	case s.chart != "":
		return g.chart(ctx, target, s)
	}
	return g.git(ctx, target, s)
}

// artifact adds an artifact of a registry that is not a chart. Its manifests are an archive that only its reconciler reads.
func (g *gathering) artifact(ctx context.Context, s source) error {
	reference := strings.TrimPrefix(s.repository, "oci://")
	if strings.HasPrefix(s.reference, "sha256:") {
		reference += "@" + s.reference
	} else {
		reference += ":" + s.reference
	}
	if err := g.image(ctx, reference); err != nil {
		return err
	}
	return g.missing(ctx, "target", reference, errors.New("the images of the manifests in this artifact are not known"))
}

// git adds a branch or tag of a repository.
func (g *gathering) git(ctx context.Context, target string, s source) ([]string, error) {
	if err := checkURL(s.repository); err != nil {
		return nil, g.missing(ctx, "repository", s.repository, err)
	}
	g.progress("reading %s", s.repository)
	ref, err := g.resolve(ctx, s)
	if err != nil {
		return nil, g.missing(ctx, "repository", s.repository, err)
	}
	images, err := g.manifests(ctx, target, s, g.follow(s.repository, ref))
	if err != nil {
		return nil, g.missing(ctx, "target", target, fmt.Errorf("its images are not known: %w", err))
	}
	return images, nil
}

// resolve returns the branch or tag of a source.
func (p *Packer) resolve(ctx context.Context, s source) (Reference, error) {
	if s.tagFirst && s.reference != "" && !strings.HasPrefix(s.reference, "refs/") {
		if tag, err := p.Repositories.Resolve(ctx, s.repository, "refs/tags/"+s.reference); err == nil {
			return tag, nil
		}
	}
	return p.Repositories.Resolve(ctx, s.repository, s.reference)
}

// manifests returns the images of a folder: a chart, a kustomization, or manifests.
func (g *gathering) manifests(ctx context.Context, target string, s source, ref Reference) ([]string, error) {
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	files, err := g.Repositories.Files(ctx, s.repository, ref, folder)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no folder %q", strings.TrimPrefix(ref.Name, "refs/heads/"), folder)
	}
	if hasFile(files, folder, "fleet.yaml") {
		return nil, errors.New("fleet.yaml can name charts, which are not read")
	}
	switch {
	case hasFile(files, folder, "Chart.yaml"):
		for i := range files {
			files[i].Path = strings.TrimPrefix(files[i].Path, joined(folder))
		}
		return g.render(ctx, target, s, chart.FormChart, files, "")
	case hasKustomization(files, folder):
		return g.kustomization(ctx, target, s, ref, files, folder)
	}
	// Reconcilers apply the kustomizations below a folder of manifests as such.
	var images []string
	for _, below := range kustomizations(files) {
		found, err := g.kustomization(ctx, target, s, ref, files, below)
		if err != nil {
			return nil, err
		}
		images = append(images, found...)
		files = slices.DeleteFunc(slices.Clone(files), func(f chart.File) bool { return strings.HasPrefix(f.Path, joined(below)) })
	}
	for _, f := range files {
		switch path.Ext(f.Path) {
		case ".yaml", ".yml", ".json":
			if f.Symlink {
				return nil, fmt.Errorf("%s is a symbolic link; put a copy in its place", f.Path)
			}
			found, err := chart.ImagesIn(f.Content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			images = append(images, found...)
		}
	}
	return images, nil
}

// kustomization returns the images of a kustomization. files are those of its folder at least.
func (g *gathering) kustomization(ctx context.Context, target string, s source, ref Reference, files []chart.File, folder string) ([]string, error) {
	images, err := g.render(ctx, target, s, chart.FormKustomization, files, folder)
	if err == nil || ctx.Err() != nil {
		return images, err
	}
	// It can refer to files beside its folder. Links there are left out: kustomize reports those that it needs.
	if files, err = g.Repositories.Files(ctx, s.repository, ref, ""); err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f chart.File) bool { return f.Symlink })
	return g.render(ctx, target, s, chart.FormKustomization, files, folder)
}

// kustomizations returns the folders of kustomizations that are not below another one, sorted.
func kustomizations(files []chart.File) []string {
	var folders []string
	for _, f := range files {
		if slices.Contains(chart.KustomizationFiles, path.Base(f.Path)) {
			folders = append(folders, path.Dir(f.Path))
		}
	}
	slices.Sort(folders)
	var top []string
	for _, folder := range folders {
		if !slices.ContainsFunc(top, func(above string) bool { return folder == above || strings.HasPrefix(folder, joined(above)) }) {
			top = append(top, folder)
		}
	}
	return top
}

// hasFile reports whether a folder has one of some files.
func hasFile(files []chart.File, folder string, names ...string) bool {
	return slices.ContainsFunc(files, func(f chart.File) bool { return slices.Contains(names, strings.TrimPrefix(f.Path, joined(folder))) })
}

func hasKustomization(files []chart.File, folder string) bool {
	return hasFile(files, folder, chart.KustomizationFiles...)
}

func joined(folder string) string {
	if folder == "" {
		return ""
	}
	return folder + "/"
}

// render returns the images of a chart or kustomization.
func (g *gathering) render(ctx context.Context, target string, s source, form chart.Form, files []chart.File, folder string) ([]string, error) {
	data, err := s.data()
	if err != nil {
		return nil, err
	}
	job := &chart.Job{Form: form, Files: files, Targets: []chart.Target{{
		Name: target, Folder: folder, Data: data, Options: chart.Options{Release: target, Namespace: target},
	}}}
	result, err := g.Renderer.Render(ctx, job, nil)
	if err != nil {
		return nil, err
	}
	rendered := result.Targets[0]
	if rendered.Manifests == nil {
		i := slices.IndexFunc(rendered.Problems, func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError })
		return nil, errors.New(rendered.Problems[max(i, 0)].Message)
	}
	return rendered.Manifests.Images, nil
}

// chart adds a chart of a repository of charts.
func (g *gathering) chart(ctx context.Context, target string, s source) ([]string, error) {
	name := s.chart + " " + cmp.Or(s.version, "*") + " of " + s.repository
	g.progress("fetching chart %s", name)
	found, version, files, err := g.Registries.Chart(ctx, app.Chart{Repository: s.repository, Name: s.chart, Version: s.version})
	if err != nil {
		return nil, g.missing(ctx, "chart", name, err)
	}
	c := Chart{Repository: s.repository, Name: s.chart, Version: version, Artifact: found}
	if _, err := chart.ParseImage(c.reference()); err != nil {
		return nil, g.missing(ctx, "chart", name, fmt.Errorf("it cannot be in a registry: %w", err))
	}
	if known, ok := g.charts[c.reference()]; ok && known.Digest != c.Digest {
		return nil, g.missing(ctx, "chart", name, fmt.Errorf("another chart has the name %s in a registry", c.reference()))
	}
	g.charts[c.reference()] = c
	images, err := g.render(ctx, target, s, chart.FormChart, files, "")
	if err != nil {
		return nil, g.missing(ctx, "target", target, fmt.Errorf("its images are not known: %w", err))
	}
	return images, nil
}

// image adds an image.
func (g *gathering) image(ctx context.Context, reference string) error {
	if _, tried := g.tried[reference]; tried {
		return nil
	}
	g.progress("fetching image %s", reference)
	image, err := chart.ParseImage(reference)
	var found Artifact
	if err == nil {
		found, err = g.Registries.Image(ctx, image)
	}
	g.tried[reference] = err
	if err != nil {
		return g.missing(ctx, "image", reference, err)
	}
	g.images[reference] = Image{reference, found}
	return nil
}

// bundles writes the Git bundles.
func (g *gathering) bundles(ctx context.Context) error {
	slices.SortFunc(g.m.Repositories, func(a, b Repository) int { return cmp.Compare(a.URL, b.URL) })
	if err := os.MkdirAll(filepath.Join(g.dir, "git"), 0o700); err != nil {
		return err
	}
	for i := range g.m.Repositories {
		r := &g.m.Repositories[i]
		slices.SortFunc(r.References, func(a, b Reference) int { return cmp.Compare(a.Name, b.Name) })
		r.File = fmt.Sprintf("git/%d.bundle", i+1)
		g.progress("packing %s", r.URL)
		if err := g.bundle(ctx, r); err != nil {
			return fmt.Errorf("pack repository %q: %w", r.URL, err)
		}
	}
	return nil
}

func (g *gathering) bundle(ctx context.Context, r *Repository) error {
	f, err := os.Create(filepath.Join(g.dir, filepath.FromSlash(r.File)))
	if err != nil {
		return err
	}
	return errors.Join(g.Repositories.Bundle(ctx, r.URL, r.References, f), f.Close())
}

// finish writes the image layout and completes the manifest.
func (g *gathering) finish() (*Manifest, error) {
	for _, reference := range slices.Sorted(maps.Keys(g.images)) {
		g.m.Images = append(g.m.Images, g.images[reference])
	}
	for _, reference := range slices.Sorted(maps.Keys(g.charts)) {
		g.m.Charts = append(g.m.Charts, g.charts[reference])
	}
	slices.SortFunc(g.m.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Reason, b.Reason))
	})
	g.m.Missing = slices.Compact(g.m.Missing)
	index, err := json.Marshal(g.m.index())
	if err != nil {
		return nil, err
	}
	for name, content := range map[string]string{"index.json": string(index), "oci-layout": `{"imageLayoutVersion":"1.0.0"}`} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(content+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	return g.m, nil
}

// index returns the index of the image layout, which names each image and chart by its full reference.
func (m *Manifest) index() any {
	entries := []map[string]any{}
	add := func(reference string, a Artifact) {
		entries = append(entries, map[string]any{
			"mediaType": a.MediaType, "digest": a.Digest, "size": a.Size,
			"annotations": map[string]string{"org.opencontainers.image.ref.name": reference},
		})
	}
	for _, image := range m.Images {
		full, _ := chart.ParseImage(image.Reference) // it was fetched
		add(full.String(), image.Artifact)
	}
	for _, c := range m.Charts {
		add(c.reference(), c.Artifact)
	}
	return map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries}
}

// Unallowed returns what is missing and not among the allowed names.
func (m *Manifest) Unallowed(allowed []string) []Missing {
	return slices.DeleteFunc(slices.Clone(m.Missing), func(x Missing) bool { return slices.Contains(allowed, x.Name) })
}
