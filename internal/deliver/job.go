package deliver

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// work is what to render for an environment: one job for the chart, or one for each service.
type work struct {
	app         *Application
	environment string
	build       Build
	config      *Config
	gitops      *GitOps

	source *Files
	parts  []*part
	// workspace is the owner of the application; may be empty.
	workspace string
	// pins are the pinned targets, only the targets that are written; nil for all.
	pins map[string]pinned
	only map[string]bool
	// requests say who asked for pins, by target.
	requests map[string]tree.Request
	// held are the targets that stay as published because of what targets need of each other.
	held map[string]fleet.Problem
	// problems are the problems found before rendering, by target.
	problems map[string][]fleet.Problem
	others   []fleet.Problem
}

// part is one job, with the chart that it renders.
type part struct {
	service *app.Service
	origin  tree.Origin
	job     *chart.Job
	// err is why the chart could not be loaded.
	err error
}

// prepare determines what to render.
func (l *Loader) prepare(ctx context.Context, a *Application, environment string, build Build, config *Config, gitops *GitOps) (*work, error) {
	of := *gitops
	of.Published = of.Published.Adopt(a.folders(gitops, environment))
	w := &work{app: a, environment: environment, build: build, config: config, gitops: &of, problems: map[string][]fleet.Problem{}}
	if w.workspace = a.Request.Workspace; w.workspace == "" {
		w.workspace = gitops.workspace()
	}
	main := schedule.Location{Repo: a.Request.Source, Folder: a.Request.SourceFolder, Branch: a.Request.Branch, Commit: a.Source.Commit}
	var err error
	if w.source, err = l.Repositories.Files(ctx, main); err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	services := a.Delivery.Spec.Services
	for i := range services {
		w.parts = append(w.parts, l.part(ctx, w, &services[i]))
	}
	if len(services) == 0 {
		w.parts = []*part{l.part(ctx, w, nil)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.assign()
	return w, nil
}

// part returns a job without targets. If its chart cannot be loaded, only the job's own targets are held.
func (l *Loader) part(ctx context.Context, w *work, service *app.Service) *part {
	d := w.app.Delivery.Spec
	p := &part{service: service, job: &chart.Job{Form: chart.FormChart, Vars: w.app.Request.Vars, ListMade: w.app.Request.ListMade}}
	if w.config != nil {
		p.job.Config, p.job.ConfigSource = w.config.Files, "config"
	}
	switch {
	case service != nil:
		l.progress("fetching the chart of %s", service.Name)
		p.chart(ctx, w, service.Chart, l)
	case d.Kustomization != "":
		p.job.Form = chart.FormKustomization
		p.folder(w, d.Kustomization)
	case d.Manifests != "":
		p.job.Form = chart.FormManifests
		p.folder(w, d.Manifests)
	default:
		p.chart(ctx, w, *d.Chart, l)
	}
	if schema := d.Config.Schema; schema != "" && p.err == nil {
		p.schema(w, schema)
	}
	p.templates(w)
	return p
}

func (p *part) schema(w *work, at string) {
	clean, _ := fleet.CleanPath(at) // validated when it was read
	content, err := w.source.Read(clean)
	if err != nil {
		p.err = fmt.Errorf("read the schema %q: %w", at, err)
		return
	}
	p.job.Schema, p.job.SchemaFile = content, clean
}

func (p *part) chart(ctx context.Context, w *work, ref app.Chart, l *Loader) {
	fetch := func() (*Chart, error) { return l.Charts.Fetch(ctx, ref) }
	if ref.Repository == "" {
		folder, _ := fleet.CleanPath(cmp.Or(ref.Path, app.DefaultChart)) // validated when it was read
		if !slices.ContainsFunc(w.source.Entries, func(e Entry) bool { return e.Path == path.Join(folder, "Chart.yaml") }) {
			p.err = fmt.Errorf("the folder %q of the source has no chart; set spec.chart of a Delivery to the right folder", folder)
			return
		}
		files, err := w.source.read(inCharts(w.source.Entries))
		if err != nil {
			p.err = err
			return
		}
		fetch = func() (*Chart, error) { return l.Charts.Local(ctx, files, folder) }
	}
	c, err := fetch()
	if err != nil {
		p.err = err
		return
	}
	p.origin, p.job.Files = tree.Origin{Name: c.Name, Version: c.Version, Digest: c.Digest}, c.Files
	for _, notice := range c.Notices {
		w.others = append(w.others, fleet.Problem{Severity: fleet.SeverityNotice, Kind: fleet.KindUnreachable, Message: notice})
	}
}

// inCharts selects the files of all charts in a repository, because they can depend on each other.
func inCharts(entries []Entry) func(Entry) bool {
	folders := map[string]bool{}
	for _, e := range entries {
		if path.Base(e.Path) == "Chart.yaml" {
			folders[path.Dir(e.Path)] = true
		}
	}
	return func(e Entry) bool {
		for dir := path.Dir(e.Path); ; dir = path.Dir(dir) {
			if folders[dir] {
				return true
			}
			if dir == "." || dir == "/" {
				return false
			}
		}
	}
}

// folder reads the files of kustomizations or of plain manifests: those that the targets' folders use, and no others.
func (p *part) folder(w *work, pattern string) {
	var folders []string
	for _, i := range w.app.targetsIn(w.environment) {
		folder, err := fleet.CleanPath(app.InTarget(pattern, w.environment, w.app.Workload.Spec.DeploymentTargets[i].Name))
		if err == nil && !slices.Contains(folders, folder) { // otherwise an error of the target
			folders = append(folders, folder)
		}
	}
	wanted := func(e Entry) bool {
		return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(e.Path)) && !e.Symlink && !strings.HasPrefix(e.Path, ".") &&
			slices.ContainsFunc(folders, func(f string) bool { return f == "" || strings.HasPrefix(e.Path, f+"/") })
	}
	if p.job.Form == chart.FormKustomization {
		if wanted, p.err = w.source.reachable(folders); p.err != nil {
			return
		}
	}
	p.job.Files, p.err = w.source.read(wanted)
}

// assign assigns each target of the environment to the part that renders it.
func (w *work) assign() {
	used := map[string]bool{}
	for _, i := range w.app.targetsIn(w.environment) {
		t := w.app.Workload.Spec.DeploymentTargets[i]
		target, p, err := w.target(t, used)
		if err == nil {
			err = p.err
		}
		if err != nil {
			w.problems[t.Name] = []fleet.Problem{{
				Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: fleet.Ref{Kind: "Workload", Name: w.app.Workload.Name},
				Position: w.app.at(i), Message: err.Error(), Hint: "the target stays as published",
			}}
			continue
		}
		p.job.Targets = append(p.job.Targets, target)
	}
	w.unused(used)
}

// target returns what to render for a target, and the part that renders it.
func (w *work) target(entry scheduler.WorkloadTarget, used map[string]bool) (chart.Target, *part, error) {
	d, name := w.app.Delivery.Spec, entry.Name
	image, err := w.build.Values(d.Images)
	if err != nil {
		return chart.Target{}, nil, err
	}
	built, err := w.build.images(d.Images)
	if err != nil {
		return chart.Target{}, nil, err
	}
	t := chart.Target{
		Name: name, Built: built, Versions: w.build.versions(d.Images), Set: w.app.Request.Set, SetString: w.app.Request.SetString, Image: image,
		Options: chart.Options{Release: d.Release, Kubernetes: w.app.environment(w.environment).Kubernetes, Secrets: d.Secrets},
	}
	p := w.parts[0]
	if p.job.Form != chart.FormChart {
		t.Folder, err = fleet.CleanPath(app.InTarget(d.Kustomization+d.Manifests, w.environment, name))
		t.Image = nil
		return t, p, err
	}
	folder, err := w.folderOf(name, used)
	if err != nil {
		return t, nil, err
	}
	t.Layers, t.Facts = w.layers(folder), w.facts(entry, folder)
	if p.service == nil {
		t.Namespace, err = w.namespace(*d.Chart, name, "")
		return t, p, err
	}
	if p = w.serving(folder); p == nil {
		return t, nil, fmt.Errorf("the folder %q of the configuration is not below a service; services are %s", folder.Path, w.services())
	}
	t.Release = cmp.Or(d.Release, p.service.Name)
	t.Namespace, err = w.namespace(p.service.Chart, name, p.service.Namespace)
	return t, p, err
}

// namespace returns what the chart sees as the namespace of a target. otherwise is for charts that set none.
func (w *work) namespace(c app.Chart, target, otherwise string) (string, error) {
	namespace := cmp.Or(c.NamespaceOf(w.environment, target), otherwise)
	if namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return "", fmt.Errorf("the namespace %.100q of the chart has other than lower-case letters, digits and dashes, or more than 63 of them", namespace)
	}
	return namespace, nil
}

// folderOf returns the configuration folder of a target, and adds it to used.
func (w *work) folderOf(name string, used map[string]bool) (values.Folder, error) {
	wanted := ""
	for _, t := range w.app.Delivery.Spec.Config.Targets {
		if t.Name == name {
			wanted, _ = fleet.CleanPath(t.Folder) // validated when it was read
		}
	}
	var found []values.Folder
	for _, f := range w.config.Folders {
		if wanted != "" && f.Path == wanted || wanted == "" && w.isNamed(f, name) {
			found, used[f.Path] = append(found, f), true
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return values.Folder{}, fmt.Errorf("no folder of the configuration renders the target %q of the Workload: want %q with a %s in %s; there are %s",
			name, cmp.Or(wanted, name), values.FileName, w.config, folders(w.config.Folders))
	default:
		return values.Folder{}, fmt.Errorf("several folders of the configuration are named like the target %q: %s; select one in the Delivery", name, folders(found))
	}
}

// isNamed reports whether a folder is named like a target: by its last element or, for services, by its whole path,
// because folders of several services can have the same name.
func (w *work) isNamed(f values.Folder, target string) bool {
	return f.Name() == target || len(w.app.Delivery.Spec.Services) > 0 && strings.ReplaceAll(f.Path, "/", "-") == target
}

func folders(all []values.Folder) string {
	var names []string
	for i, f := range all {
		if i == 10 {
			names = append(names, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		names = append(names, fmt.Sprintf("%q", cmp.Or(f.Path, ".")))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// serving returns the part of the service that a folder belongs to; nil if
// there is none. A single service has all folders.
func (w *work) serving(folder values.Folder) *part {
	elements := strings.Split(folder.Path, "/")
	for _, p := range w.parts {
		if slices.Contains(elements, p.service.Name) {
			return p
		}
	}
	if len(w.parts) == 1 {
		return w.parts[0]
	}
	return nil
}

func (w *work) services() string {
	var names []string
	for _, p := range w.parts {
		names = append(names, p.service.Name)
	}
	return strings.Join(names, ", ")
}

// unused warns about configuration folders without a target in the Workload.
func (w *work) unused(used map[string]bool) {
	if w.parts[0].job.Form != chart.FormChart || w.config == nil {
		return
	}
	for _, f := range w.config.Folders {
		if !used[f.Path] && f.Path != "" && !w.isElsewhere(f) {
			w.others = append(w.others, fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindMissingObject,
				Position: fleet.Position{Source: "config", File: path.Join(w.config.Location.Path, f.Files[len(f.Files)-1])},
				Message:  fmt.Sprintf("the Workload %q has no target for this folder in %s, so it is not rendered", w.app.Workload.Name, w.environment),
				Hint:     "add the target to the Workload, or assign the folder to a target in the Delivery",
			})
		}
	}
}

// isElsewhere reports whether a folder belongs to a target in another environment: all environments can have their configuration on one branch.
func (w *work) isElsewhere(f values.Folder) bool {
	return slices.ContainsFunc(w.app.Workload.Spec.DeploymentTargets, func(t scheduler.WorkloadTarget) bool {
		return t.Environment != w.environment && w.isNamed(f, t.Name)
	})
}

// wanted returns what the branch should hold.
func (w *work) wanted(results []*chart.Result) tree.Wanted {
	wanted := tree.Wanted{
		Workload: w.app.Workload.Name, Environment: w.environment, Root: w.gitops.Location.Path, Withhold: w.app.withhold, Only: w.only, Requests: w.requests, Held: w.held,
		Build: tree.Tracking{Commit: w.build.Commit, Version: w.build.Version, ImageTag: w.build.Image},
	}
	if w.only == nil && w.app.Alone && (w.gitops.tracked || !w.gitops.Published.Shared()) {
		wanted.Tracking = wanted.Build
	}
	rendered := map[string]chart.Rendered{}
	origins := map[string]tree.Origin{}
	for i, result := range results {
		for _, r := range result.Targets {
			rendered[r.Name], origins[r.Name] = r, w.parts[i].origin
		}
	}
	for _, i := range w.app.targetsIn(w.environment) {
		t := w.app.Workload.Spec.DeploymentTargets[i]
		folder, problems := w.place(i)
		r := rendered[t.Name]
		r.Name = t.Name
		r.Problems = slices.Concat(w.problems[t.Name], problems, r.Problems)
		pin := w.pins[t.Name]
		wanted.Targets = append(wanted.Targets, tree.Target{
			Name: t.Name, Folder: folder, Chart: origins[t.Name], Descriptor: w.descriptor(t.Name, folder), Rendered: r,
			Pin: pin.Pin, Kept: pin.files, PinProblem: pin.err,
		})
	}
	return wanted
}

// place returns the folder, from the root, for a target's manifests: the one that clusters are configured to follow.
func (w *work) place(target int) (string, []fleet.Problem) {
	t := w.app.Workload.Spec.DeploymentTargets[target]
	at, root := t.Manifests["path"], w.gitops.Location.Path
	clean, err := fleet.CleanPath(at)
	folder, below := clean, true
	if root != "" {
		folder, below = strings.CutPrefix(clean, root+"/")
	}
	warn := func(format string, args ...any) []fleet.Problem {
		return []fleet.Problem{{
			Severity: fleet.SeverityWarning, Kind: fleet.KindInvalidValue, Object: fleet.Ref{Kind: "Workload", Name: w.app.Workload.Name},
			Position: w.app.at(target), Message: fmt.Sprintf(format, args...), Hint: "correct the target's manifests, or spec.gitops of the Delivery",
		}}
	}
	switch {
	case at == "":
		return t.Name, nil
	case err != nil || clean == "" || !below:
		return t.Name, warn("clusters are configured to follow the path %.100q, but manifests are written to %q", at, path.Join(root, t.Name))
	case t.Manifests["branch"] != "" && t.Manifests["branch"] != w.gitops.Location.Branch:
		return folder, warn("clusters are configured to follow the branch %.100q, but manifests are written to %q", t.Manifests["branch"], w.gitops.Location.Branch)
	}
	return folder, nil
}
