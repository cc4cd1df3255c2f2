package engine

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// hook is a document that Helm installs before or after an event, not with the others.
type hook struct {
	document
	events []release.HookEvent
}

// sorted returns the documents in files in the order in which Helm installs them, by file within a kind: objects, and hooks.
//
// Helm's own function parses every document again for this. The result is the same, which a test checks.
// Field names are matched exactly, like in an API server.
func sorted(files map[string]string) (objects []document, hooks []hook, err error) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path.Base(file), "_") {
			continue // definitions for other templates
		}
		for _, text := range chart.Documents(files[file]) {
			d, err := read(file, text)
			if err != nil {
				return nil, nil, err
			}
			on, isHook, err := d.hook()
			switch {
			case err != nil:
				return nil, nil, err
			case isHook:
				hooks = append(hooks, hook{d, events(on)})
			default:
				objects = append(objects, d)
			}
		}
	}
	slices.SortStableFunc(objects, byKind)
	slices.SortStableFunc(hooks, func(a, b hook) int { return byKind(a.document, b.document) })
	return objects, hooks, nil
}

// hook returns the events at which the document is installed. isHook is false if it is installed with all others.
func (d document) hook() (on string, isHook bool, err error) {
	metadata, ok := d.fields["metadata"].(map[string]any)
	if !ok && d.fields["metadata"] != nil {
		return "", false, fmt.Errorf("%s: the metadata of an object is not a map; it begins with %.40q", d.source, d.text)
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok && metadata["annotations"] != nil {
		return "", false, fmt.Errorf("%s: the annotations of an object are not a map; it begins with %.40q", d.source, d.text)
	}
	_, isHook = annotations[release.HookAnnotation]
	return text(annotations, release.HookAnnotation), isHook, nil
}

// events returns the events in an annotation. It returns none if Helm does not know one of them, since Helm then
// leaves out the object.
func events(on string) []release.HookEvent {
	var all []release.HookEvent
	for name := range strings.SplitSeq(on, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "test-success" { // Helm 2
			name = string(release.HookTest)
		}
		if !slices.Contains(whenHooksRun, release.HookEvent(name)) {
			return nil
		}
		all = append(all, release.HookEvent(name))
	}
	return all
}

// whenHooksRun are the events that Helm knows, those of installing and upgrading first.
var whenHooksRun = []release.HookEvent{
	release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade,
	release.HookPreRollback, release.HookPostRollback, release.HookPreDelete, release.HookPostDelete, release.HookTest,
}

// installs reports whether a hook runs on installation or upgrade.
func installs(e release.HookEvent) bool { return slices.Contains(whenHooksRun[:4], e) }

// leftOut returns the notice that a hook is not among the manifests.
func (h hook) leftOut() fleet.Problem {
	message := "a hook that runs only on deletion or rollback is left out: reconcilers would apply it like anything else"
	if len(h.events) == 0 {
		message = "a hook for an event that Helm does not know is left out, as Helm leaves it out"
	}
	metadata, _ := h.fields["metadata"].(map[string]any)
	return fleet.Problem{
		Severity: fleet.SeverityNotice, Kind: fleet.KindTemplateOutput,
		Object: fleet.Ref{Kind: h.kind(), Name: text(metadata, "name")}, Position: fleet.Position{Source: "chart", File: h.source},
		Message: message,
	}
}

// handled are annotations with which reconcilers replace an object that cannot be changed, or run it as a hook of their own.
var handled = []string{"kustomize.toolkit.fluxcd.io/force", "argocd.argoproj.io/hook"}

// runsOnce reports whether a hook of installation or upgrade is an object whose containers cannot be changed, and no reconciler was told
// what to do with it.
func (h hook) runsOnce() bool {
	if kind := h.kind(); kind != "Job" && kind != "Pod" {
		return false
	}
	metadata, _ := h.fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return !slices.ContainsFunc(handled, func(name string) bool { return annotations[name] != nil })
}

// stays returns the warning that a hook is among the manifests as a plain object.
func (h hook) stays(templates []chartTemplate) fleet.Problem {
	metadata, _ := h.fields["metadata"].(map[string]any)
	at := fleet.Position{Source: "chart", File: h.source}
	for _, t := range templates {
		if before, _, found := strings.Cut(t.text, release.HookAnnotation); found && t.name == h.source {
			at.Line = strings.Count(before, "\n") + 1
		}
	}
	return fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindTemplateOutput, Object: fleet.Ref{Kind: h.kind(), Name: text(metadata, "name")}, Position: at,
		Message: "a hook of Helm is applied with all other objects, and a cluster refuses to change it when its image changes",
		Hint: "add the annotation kustomize.toolkit.fluxcd.io/force: enabled for Flux, or argocd.argoproj.io/hook: PreSync for Argo CD; or give it " +
			"a name with the version",
	}
}

// byKind compares two documents by the installation order of their kinds. Kinds that Helm does not list are last, by name.
func byKind(a, b document) int {
	first, second := installed(a.kind()), installed(b.kind())
	if first == second && first == len(releaseutil.InstallOrder) {
		return strings.Compare(a.kind(), b.kind())
	}
	return cmp.Compare(first, second)
}

// installed returns a kind's position in the order of installation.
func installed(kind string) int {
	if i := slices.Index(releaseutil.InstallOrder, kind); i >= 0 {
		return i
	}
	return len(releaseutil.InstallOrder)
}
