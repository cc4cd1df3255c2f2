package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

const (
	storageKey = "storage"
	// ringsKey names the rings of an application's branch. Package bundle uses it, so it is never refused here.
	ringsKey = "rings"

	defaultStorage = "git"
)

// manifestKeys are the keys of a target's manifests that a template uses, by storage; a target sets one at most of each
// group. Nil: it refuses nothing.
type manifestKeys map[string][][]string

// telling are keys of a target's manifests that say what is deployed, and in which version.
var telling = []string{storageKey, "tag", "chart", "version"}

// unread returns the telling keys that no text of a template mentions, if it does not say which keys it uses.
func unread(t *Template) []string {
	keys, known := mentioned(t)
	if !known {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(telling), func(key string) bool { return slices.Contains(keys, key) })
}

// mentioned returns the keys of manifests that the texts of a template mention, if it does not say which keys it uses. known is false if
// they cannot be told.
func mentioned(t *Template) (keys []string, known bool) {
	if len(t.keys) > 0 || t.charted || t.source.Type != v1alpha1.ReconcilerTemplate {
		return nil, false
	}
	short := map[string]string{"Repo": "repo", "Branch": "branch", "Path": "path"}
	for _, m := range t.manifests {
		if m.isObject {
			return nil, false
		}
		for _, a := range m.text.actions {
			for _, chain := range a.keys {
				switch key := short[chain[0]]; {
				case key != "":
					keys = append(keys, key)
				case chain[0] == "Manifests" && len(chain) == 1:
					return nil, false // all keys
				case chain[0] == "Manifests":
					keys = append(keys, chain[1])
				}
			}
		}
	}
	return keys, true
}

// mistyped returns an error if the target of an assignment sets a key that is a typo of one that the template uses and the target does
// not set: without its path, a reconciler would apply a whole repository.
func (t *Template) mistyped(d *Data) error {
	for _, key := range slices.Sorted(maps.Keys(d.Manifests)) {
		near := nearest.Typo(key, t.mentioned)
		if near == "" || d.Manifests[key] == "" || d.Manifests[near] != "" || slices.Contains(t.mentioned, key) {
			continue
		}
		return t.keys.refusal(t, d, fmt.Sprintf("template %q does not use %s, but manifests.%s, which is not set", t.Name(), named([]string{key}), near),
			fmt.Sprintf("did you mean %q?", near))
	}
	return nil
}

// ignored returns a warning if a template does not mention keys that the target of an assignment sets. Other keys can be
// meant for the templates of other cluster types.
func (t *Template) ignored(d *Data) []fleet.Problem {
	var keys []string
	for _, key := range t.unread {
		if d.Manifests[key] != "" && (key != storageKey || d.Manifests[key] != defaultStorage) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return []fleet.Problem{{
		Severity: fleet.SeverityWarning, Kind: fleet.KindTemplateKeys, Assignment: d.assignment(),
		Object:  fleet.Ref{Kind: "DeploymentTarget", Name: d.DeploymentTargetName},
		Message: fmt.Sprintf("template %q does not use %s, so clusters may run another version", t.Name(), named(keys)),
		Hint:    "use it in the template, or let spec.keys of the template refuse it",
	}}
}

func newManifestKeys(source *fleet.Template) manifestKeys {
	if len(source.Keys) == 0 {
		return nil
	}
	keys := manifestKeys{}
	for storage, all := range source.Keys {
		keys[storage] = [][]string{}
		for _, key := range all {
			keys[storage] = append(keys[storage], strings.Split(key, "|"))
		}
	}
	return keys
}

// refuse returns an error if the manifests of an assignment's target have a storage or keys that would have no effect:
// clusters would run something else than the target asks for. A key with an empty value counts as not set.
func (k manifestKeys) refuse(t *Template, d *Data) error {
	if k == nil {
		return t.mistyped(d)
	}
	storage := d.Manifests[storageKey]
	if storage == "" {
		storage = defaultStorage
	}
	used, known := k[storage]
	if !known {
		storages := slices.Sorted(maps.Keys(k))
		return k.refusal(t, d, fmt.Sprintf("template %q does not support manifests.storage %q", t.Name(), brief(storage)),
			"it supports "+enumerate(storages, "and"))
	}
	var unused []string
	for key, value := range d.Manifests {
		if value == "" || key == storageKey || key == ringsKey {
			continue
		}
		if !slices.Contains(slices.Concat(used...), key) {
			unused = append(unused, key)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		message := fmt.Sprintf("template %q does not use %s with storage %s", t.Name(), named(unused), storage)
		return k.refusal(t, d, message, k.hint(unused, storage))
	}
	for _, group := range used {
		set := slices.DeleteFunc(slices.Clone(group), func(key string) bool { return d.Manifests[key] == "" })
		if len(set) > 1 {
			return k.refusal(t, d, fmt.Sprintf("%s exclude each other in template %q", named(set), t.Name()), "keep one of them")
		}
	}
	return nil
}

// hint says what to do about keys that a template does not use with a storage.
func (k manifestKeys) hint(unused []string, storage string) string {
	var keys, others []string
	for _, other := range slices.Sorted(maps.Keys(k)) {
		if slices.Contains(slices.Concat(k[other]...), unused[0]) {
			others = append(others, other)
		}
	}
	for _, group := range k[storage] {
		keys = append(keys, strings.Join(group, " or "))
	}
	hint := "remove what has no effect: the template uses " + strings.Join(keys, ", ")
	near := fleet.Nearest(unused[0], slices.Concat(k[storage]...))
	switch {
	case len(others) > 0:
		return fmt.Sprintf("manifests.%s is for storage %s; %s", brief(unused[0]), enumerate(others, "and"), hint)
	case near != "" && len(unused) == 1:
		return fmt.Sprintf("did you mean %q? Otherwise, %s", near, hint)
	}
	return hint
}

// refusal returns the error. The caller of [Worker.Render] knows the position of the target.
func (manifestKeys) refusal(t *Template, d *Data, message, hint string) error {
	if !t.source.Builtin {
		hint += "; or change the template, and its spec.keys"
	}
	return &Error{fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindTemplateKeys, Assignment: d.assignment(),
		Object: fleet.Ref{Kind: "DeploymentTarget", Name: d.DeploymentTargetName}, Message: message, Hint: hint,
	}}
}

// named returns "manifests.branch and manifests.tag".
func named(keys []string) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = "manifests." + brief(key)
	}
	return enumerate(all, "and")
}

// enumerate returns "a, b and c".
func enumerate(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
