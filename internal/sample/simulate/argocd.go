package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// argo is the dialect of Argo CD.
type argo struct{}

// readApplication reads an Argo CD Application, and follows its sources.
func (m *machine) readApplication(e *entry) *follower {
	f := &follower{
		entry: e, dialect: argo{}, namespace: e.fields.text("spec", "destination", "namespace"), settles: true,
		prune: e.fields.is("spec", "syncPolicy", "automated", "prune"), manual: !e.isAutomated(), flat: true,
	}
	options, _ := e.fields.at("spec", "syncPolicy", "syncOptions").([]any)
	f.createNamespace = slices.Contains(options, any("CreateNamespace=true"))
	for i, spec := range e.applicationSources() {
		name := fmt.Sprintf("%s %s/%s#%d", e.kind, e.namespace, e.name, i+1)
		w := argoWants(spec)
		// The user decides where a cluster starts. Everything else comes from Git, and is not trusted.
		if w.fixed == "" && e.owner != (key{}) && !isRemote(w.url) {
			f.invalid = fmt.Sprintf("repository %q does not lead to a server", w.url)
			w.invalid = f.invalid
		}
		m.follow(name, w)
		f.sources = append(f.sources, place{name, spec.text("path")})
		f.flat = f.flat && !spec.is("directory", "recurse")
	}
	if len(f.sources) == 0 {
		f.invalid = "spec.source or spec.sources is required"
	}
	return f
}

func (e *entry) applicationSources() []fields {
	if several := e.fields.list("spec", "sources"); len(several) > 0 {
		return several
	}
	if one := e.fields.fieldsAt("spec", "source"); one != nil {
		return []fields{one}
	}
	return nil
}

// isAutomated reports whether an Application syncs automatically.
func (e *entry) isAutomated() bool {
	policy := e.fields.fieldsAt("spec", "syncPolicy", "automated")
	enabled, set := policy["enabled"].(bool)
	return policy != nil && (enabled || !set)
}

// argoWants reads what a source follows. Argo CD has one field for branches, tags and commits.
func argoWants(spec fields) wanted {
	w := wanted{remote: remote{url: spec.text("repoURL")}}
	target := strings.TrimPrefix(spec.text("targetRevision"), "refs/heads/")
	switch {
	case spec.text("chart") != "":
		w.fixed = chartVersion(target)
	case strings.HasPrefix(w.url, "oci://"):
		w.fixed = digest(w.url + ":" + target)
	case target != "" && target != "HEAD":
		w.branch = target
	}
	return w
}

func (argo) revision(_ *follower, a artifact) string { return a.revision }

func (argo) missing(path string) string { return path + ": app path does not exist" }

func (argo) refused(r *refusal) string {
	if r.noKind {
		return fmt.Sprintf("one or more synchronization tasks are not valid: %s%s; make sure that the CRD is installed on the destination cluster", r.key, r.text)
	}
	return fmt.Sprintf("one or more objects failed to apply (dry run), reason: %s%s", r.key, r.text)
}

func (argo) status(f *follower, w *work, now time.Time) map[string]any {
	at := now.UTC().Format(time.RFC3339)
	sync, health, phase, conditions := "OutOfSync", "Missing", "", []any(nil)
	if w.applied != "" {
		health = "Healthy"
	}
	condition := func(kind, message string) {
		conditions = append(conditions, map[string]any{"type": kind, "message": message, "lastTransitionTime": at})
	}
	switch {
	case w.phase == settled:
		sync, phase = "Synced", "Succeeded"
	case w.phase == settling:
		sync, health, phase = "Synced", "Progressing", "Succeeded"
	case w.phase == trying:
		phase = "Running"
	case w.reason == "InvalidSpec":
		sync = "Unknown"
		condition("InvalidSpecError", w.message)
	case w.reason == "ReconciliationFailed":
		phase = "Failed"
		condition("SyncError", fmt.Sprintf("Failed last sync attempt to [%s]: %s", w.attempted, w.message))
	case w.reason != "Manual":
		sync = "Unknown"
		condition("ComparisonError", "Failed to load target state: failed to generate manifest: rpc error: code = Unknown desc = "+w.message)
	}
	status := map[string]any{"sync": revisionsInto(map[string]any{"status": sync}, w.attempted), "health": map[string]any{"status": health}}
	if phase != "" {
		status["operationState"] = map[string]any{
			"phase": phase, "message": argoMessage(w), "syncResult": revisionsInto(map[string]any{}, w.attempted),
		}
	}
	if w.applied != "" {
		status["history"] = []any{revisionsInto(map[string]any{"id": int64(w.history), "deployedAt": at}, w.applied)}
	}
	if conditions != nil {
		status["conditions"] = conditions
	}
	return status
}

func argoMessage(w *work) string {
	switch w.phase {
	case failed:
		return w.message
	case trying:
		return "waiting for completion of the operation"
	}
	return "successfully synced (all tasks run)"
}

// revisionsInto adds revisions as Argo CD writes them: a single revision has a field of its own.
func revisionsInto(status map[string]any, revisions string) map[string]any {
	switch all := strings.Fields(revisions); {
	case len(all) == 1:
		status["revision"] = all[0]
	case len(all) > 1:
		several := make([]any, len(all))
		for i, r := range all {
			several[i] = r
		}
		status["revisions"] = several
	}
	return status
}
