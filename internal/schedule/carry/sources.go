package carry

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// source is a place that a reconciler of an assignment pulls from.
type source struct {
	// repository is the URL of a Git repository, a repository of charts, or of an artifact in a registry.
	repository string
	// git: the name of a branch or tag, or its full name; empty is the default branch. path is a folder.
	reference, path string
	// tagFirst: a name that is both a branch and a tag is that of the tag.
	tagFirst bool
	// chart is the name of a chart in a repository of charts, with a version and values.
	chart, version string
	values         map[string]any
	// artifact is an artifact in a registry that is not a chart, such as manifests.
	artifact bool
	// reason says why the source cannot be carried; empty if it can.
	reason string
	// unsure says why its manifests do not tell all images; empty if they do.
	unsure string
}

// sourcesOf returns the sources of the reconcilers in a file of an assignment, each once. It reads the objects of Flux, Argo CD, Fleet and
// Zarf, and those for agents. A file without any source is an error, because the bundle would be incomplete without saying so.
func sourcesOf(content []byte) ([]source, error) {
	var r reconcilers
	for _, text := range documents(string(content)) {
		var o map[string]any
		if err := fleet.UnmarshalYAML([]byte(text), &o); err != nil {
			return nil, err
		}
		r.objects = append(r.objects, o)
	}
	for _, o := range r.objects {
		switch group, _, _ := strings.Cut(field(o, "apiVersion"), "/"); group + " " + field(o, "kind") {
		case "source.toolkit.fluxcd.io GitRepository":
			r.fluxGit(o)
		case "source.toolkit.fluxcd.io OCIRepository":
			r.fluxArtifact(o)
		case "source.toolkit.fluxcd.io Bucket":
			r.add(source{repository: field(o, "spec", "endpoint"), reason: "buckets are not carried"})
		case "helm.toolkit.fluxcd.io HelmRelease":
			r.fluxRelease(o)
		case "argoproj.io Application":
			r.argo(o)
		case "fleet.cattle.io GitRepo":
			r.fleet(o)
		case "hub.kalypso.io DirectDelivery":
			r.direct(o)
		case "zarf.dev ZarfPackageConfig":
			r.zarf(o)
		}
	}
	if len(r.sources) == 0 {
		return nil, fmt.Errorf("none of its objects is a source of Flux, Argo CD, Fleet or Zarf, or a DirectDelivery")
	}
	return r.sources, nil
}

// documents splits a file at the separators that Kalypso writes.
func documents(text string) []string {
	var all []string
	for d := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(d) != "" {
			all = append(all, d)
		}
	}
	return all
}

// reconcilers collects the sources of a file's objects.
type reconcilers struct {
	objects []map[string]any
	sources []source
}

func (r *reconcilers) add(s source) {
	same := func(k source) bool {
		return k.repository == s.repository && k.reference == s.reference && k.path == s.path && k.chart == s.chart && k.version == s.version
	}
	if !slices.ContainsFunc(r.sources, same) {
		r.sources = append(r.sources, s)
	}
}

// fluxGit adds a GitRepository with the folder of each Kustomization and HelmRelease that uses it.
func (r *reconcilers) fluxGit(o map[string]any) {
	s := source{repository: field(o, "spec", "url")}
	switch {
	case field(o, "spec", "ref", "commit") != "" || field(o, "spec", "ref", "semver") != "":
		s.reason = "it follows a commit or a range of versions; a branch or a tag can be carried"
	case field(o, "spec", "ref", "name") != "":
		s.reference = field(o, "spec", "ref", "name")
	case field(o, "spec", "ref", "tag") != "":
		s.reference = "refs/tags/" + field(o, "spec", "ref", "tag")
	default:
		s.reference = "refs/heads/" + cmp.Or(field(o, "spec", "ref", "branch"), "master")
	}
	used := false
	for _, user := range r.objects {
		at := []string{"spec", "sourceRef"}
		folder := field(user, "spec", "path")
		if field(user, "kind") == "HelmRelease" {
			at = []string{"spec", "chart", "spec", "sourceRef"}
			folder = field(user, "spec", "chart", "spec", "chart")
		}
		if field(user, append(at, "kind")...) == "GitRepository" && field(user, append(at, "name")...) == field(o, "metadata", "name") {
			used, s.path, s.values = true, folder, nil
			s.release(user)
			for _, change := range []string{"images", "patches", "components", "postBuild"} {
				if value(user, "spec", change) != nil {
					s.unsure = "its Kustomization has " + change + ", which can change them"
				}
			}
			r.add(s)
		}
	}
	if !used {
		r.add(s)
	}
}

// fluxArtifact adds an OCIRepository: a chart if a HelmRelease uses it.
func (r *reconcilers) fluxArtifact(o map[string]any) {
	s := source{
		repository: field(o, "spec", "url"), artifact: true,
		reference: cmp.Or(field(o, "spec", "ref", "digest"), field(o, "spec", "ref", "tag"), "latest"),
	}
	if field(o, "spec", "ref", "semver") != "" && field(o, "spec", "ref", "digest") == "" {
		s.reason = "it follows a range of versions; a tag or digest can be carried"
	}
	for _, user := range r.objects {
		ref := fields(user, "spec", "chartRef")
		if field(user, "kind") == "HelmRelease" && field(ref, "kind") == "OCIRepository" && field(ref, "name") == field(o, "metadata", "name") {
			s.artifact, s.chart, s.version, s.reference = false, path.Base(s.repository), s.reference, ""
			s.release(user)
		}
	}
	r.add(s)
}

// fluxRelease adds the chart of a HelmRelease in a HelmRepository.
func (r *reconcilers) fluxRelease(o map[string]any) {
	ref := fields(o, "spec", "chart", "spec", "sourceRef")
	if field(ref, "kind") != "HelmRepository" {
		return
	}
	s := source{chart: field(o, "spec", "chart", "spec", "chart"), version: field(o, "spec", "chart", "spec", "version")}
	for _, repository := range r.objects {
		if field(repository, "kind") == "HelmRepository" && field(repository, "metadata", "name") == field(ref, "name") {
			s.repository = field(repository, "spec", "url")
		}
	}
	if s.repository == "" {
		s.repository, s.reason = field(ref, "name"), "its HelmRepository is not in the same file"
	}
	s.release(o)
	r.add(s)
}

// release takes the values of a HelmRelease.
func (s *source) release(o map[string]any) {
	s.values, s.unsure = fields(o, "spec", "values"), ""
	for field, what := range map[string]string{"valuesFrom": "its values come from objects in the cluster", "postRenderers": "its HelmRelease has postRenderers, which can change them"} {
		if value(o, "spec", field) != nil {
			s.unsure = what
		}
	}
}

// argo adds the sources of an Argo CD application.
func (r *reconcilers) argo(o map[string]any) {
	all, _ := value(o, "spec", "sources").([]any)
	if one := fields(o, "spec", "source"); one != nil {
		all = append(all, one)
	}
	for _, v := range all {
		from, _ := v.(map[string]any)
		s := source{repository: field(from, "repoURL"), path: field(from, "path"), chart: field(from, "chart"), values: fields(from, "helm", "valuesObject")}
		if text := field(from, "helm", "values"); text != "" && s.values == nil {
			if err := fleet.UnmarshalYAML([]byte(text), &s.values); err != nil {
				s.reason = "its values are not YAML"
			}
		}
		for _, other := range []string{"parameters", "fileParameters", "valueFiles"} {
			if set, _ := value(from, "helm", other).([]any); len(set) > 0 {
				s.unsure = "its chart has " + other
			}
		}
		for _, other := range []string{"kustomize", "plugin", "directory"} {
			if value(from, other) != nil {
				s.unsure = "its Application has " + other + ", which can change them"
			}
		}
		revision := field(from, "targetRevision")
		switch {
		case s.chart != "":
			s.version = revision
			if !strings.Contains(s.repository, "://") {
				s.repository = "oci://" + s.repository // as Argo CD names registries
			}
		case revision != "HEAD":
			s.reference = revision
		}
		r.add(s)
	}
}

// fleet adds the folders of a GitRepo of Rancher Fleet.
func (r *reconcilers) fleet(o map[string]any) {
	s := source{repository: field(o, "spec", "repo")}
	switch branch, revision := field(o, "spec", "branch"), field(o, "spec", "revision"); {
	case branch != "" && revision != "":
		s.reference, s.reason = branch, "it has a branch and a revision; Fleet clones the one and watches the other"
	case isCommit(revision):
		s.reason = "it follows a commit; a branch or a tag can be carried"
	case revision != "":
		s.reference, s.tagFirst = revision, true
	default:
		s.reference = cmp.Or(branch, "master")
	}
	paths, _ := value(o, "spec", "paths").([]any)
	for _, p := range paths {
		s.path = fmt.Sprint(p)
		r.add(s)
	}
	if len(paths) == 0 {
		r.add(s)
	}
}

// isCommit reports whether a revision is the full id of a commit.
func isCommit(revision string) bool {
	return len(revision) == 40 && strings.Trim(revision, "0123456789abcdefABCDEF") == ""
}

// direct adds the folder that an agent applies.
func (r *reconcilers) direct(o map[string]any) {
	from := fields(o, "spec", "source")
	s := source{repository: field(from, "repository"), path: field(from, "path")}
	switch {
	case field(from, "commit") != "":
		s.reason = "it follows a commit; a branch or a tag can be carried"
	case field(from, "tag") != "":
		s.reference = "refs/tags/" + field(from, "tag")
	case field(from, "branch") != "":
		s.reference = "refs/heads/" + field(from, "branch")
	}
	r.add(s)
}

// zarf adds the sources of a package of Zarf.
func (r *reconcilers) zarf(o map[string]any) {
	components, _ := value(o, "components").([]any)
	for _, c := range components {
		component, _ := c.(map[string]any)
		charts, _ := value(component, "charts").([]any)
		for _, v := range charts {
			one, _ := v.(map[string]any)
			s := source{repository: field(one, "url"), chart: field(one, "name"), version: field(one, "version"), values: fields(one, "values")}
			if field(one, "repoName") != "" {
				s.chart = field(one, "repoName")
			}
			r.add(s)
		}
		manifests, _ := value(component, "manifests").([]any)
		for _, v := range manifests {
			one, _ := v.(map[string]any)
			kustomizations, _ := value(one, "kustomizations").([]any)
			for _, k := range kustomizations {
				if s, ok := remoteKustomization(fmt.Sprint(k)); ok {
					r.add(s)
				}
			}
		}
	}
}

// remoteKustomization parses the URL of a kustomization: https://host/team/shop//folder?ref=branch.
func remoteKustomization(text string) (source, bool) {
	text, query, _ := strings.Cut(text, "?")
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return source{}, false
	}
	repository, folder, _ := strings.Cut(rest, "//")
	// As git fetches a name, which Kustomize leaves to it.
	s := source{repository: scheme + "://" + repository, path: folder, tagFirst: true}
	for part := range strings.SplitSeq(query, "&") {
		if ref, ok := strings.CutPrefix(part, "ref="); ok {
			s.reference = ref
		}
	}
	return s, true
}

// value returns a value in nested maps; nil if it is not set.
func value(o map[string]any, keys ...string) any {
	var at any = o
	for _, key := range keys {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	return at
}

// field returns a text in nested maps, fields a map.
func field(o map[string]any, keys ...string) string {
	text, _ := value(o, keys...).(string)
	return text
}

func fields(o map[string]any, keys ...string) map[string]any {
	m, _ := value(o, keys...).(map[string]any)
	return m
}

// folder returns the path of a source below the root of its repository.
func (s source) folder() (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+s.path), "/")
	if strings.HasPrefix(path.Clean(s.path), "..") {
		return "", fmt.Errorf("the path %q leads out of the repository", s.path)
	}
	return clean, nil
}

// data returns the values of a chart as YAML, which is never empty: the chart's own values are below them.
func (s source) data() ([]byte, error) {
	if s.values == nil {
		return []byte("{}\n"), nil
	}
	return yaml.Marshal(s.values)
}
