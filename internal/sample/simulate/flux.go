package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

type flux struct{}

// readSource follows the place that a Flux source names, and writes the object's status when something was found.
func (m *machine) readSource(e *entry) {
	if e.kind != "GitRepository" && e.kind != "OCIRepository" && e.kind != "HelmRepository" {
		return
	}
	s := m.follow(e.sourceName(), e.wants())
	s.entry = e
	m.setSourceStatus(s)
}

// sourceName returns the name of a Flux source, here and in messages.
func (k key) sourceName() string { return fmt.Sprintf("%s %s/%s", k.kind, k.namespace, k.name) }

// wants reads what a Flux source follows.
func (e *entry) wants() wanted {
	spec := e.fields.fieldsAt("spec")
	w := wanted{remote: remote{url: spec.text("url")}, suspended: spec.is("suspend")}
	ref := spec.fieldsAt("ref")
	switch e.kind {
	case "HelmRepository":
		w.fixed = digest(w.url)
	case "OCIRepository":
		w.label = "latest"
		if tag := ref.text("tag"); tag != "" {
			w.label = tag
		}
		w.fixed = digest(w.url + ":" + w.label)
	default:
		w.followRef(ref)
	}
	return w
}

// followRef reads the ref of a GitRepository. The first of these fields counts.
func (w *wanted) followRef(ref fields) {
	name := ref.text("name")
	branch, isBranch := strings.CutPrefix(name, "refs/heads/")
	switch {
	case ref.text("commit") != "":
		w.branch, w.revision = ref.text("branch"), ref.text("commit")
	case isBranch:
		w.branch, w.label = branch, branch
	case name != "":
		w.revision, w.label = name, name
	case ref.text("semver") != "":
		w.invalid = "a simulated cluster does not support semver in a ref"
	case ref.text("tag") != "":
		w.revision, w.label = "refs/tags/"+ref.text("tag"), ref.text("tag")
	case ref.text("branch") != "":
		w.branch, w.label = ref.text("branch"), ref.text("branch")
	default:
		w.branch, w.label = "master", "master"
	}
}

// digest stands for the digest of something that is not fetched.
func digest(of string) string {
	sum := sha256.Sum256([]byte("simulated " + of))
	return hex.EncodeToString(sum[:])
}

// fluxRevision formats a revision as Flux does.
func fluxRevision(label, hash string) string {
	algorithm := "sha1"
	if len(hash) == hex.EncodedLen(sha256.Size) {
		algorithm = "sha256"
	}
	return strings.TrimPrefix(label+"@", "@") + algorithm + ":" + hash
}

func (s *source) sourceStatus(now time.Time) map[string]any {
	ready := condition{"True", "Succeeded", "artifact is up to date"}
	status := map[string]any{"observedGeneration": s.entry.generation}
	if s.found.revision != "" && s.entry.kind != "HelmRepository" {
		revision := fluxRevision(s.found.label, s.found.revision)
		status["artifact"] = map[string]any{"revision": revision}
		ready.message = fmt.Sprintf("stored artifact for revision '%s'", revision)
	}
	if s.problem != "" {
		ready = condition{"False", "GitOperationFailed", fmt.Sprintf("failed to checkout and determine revision: unable to clone '%s': %s", s.url, s.problem)}
	}
	status["conditions"] = ready.list(s.entry.generation, now)
	return status
}

// condition returns the Ready condition as Flux writes it.
type condition struct{ status, reason, message string }

func (c condition) list(generation int64, now time.Time) []any {
	return []any{c.of("Ready", generation, now)}
}

func (c condition) of(kind string, generation int64, now time.Time) map[string]any {
	return map[string]any{
		"type": kind, "status": c.status, "reason": c.reason, "message": c.message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339), "observedGeneration": generation,
	}
}

// sourceRef returns the source that a Flux object names.
func (e *entry) sourceRef(ref fields) string {
	k := key{kind: ref.text("kind"), namespace: ref.text("namespace"), name: ref.text("name")}
	if k.namespace == "" {
		k.namespace = e.namespace
	}
	return k.sourceName()
}

func readKustomization(e *entry) *follower {
	spec := e.fields.fieldsAt("spec")
	return &follower{
		entry: e, dialect: flux{}, sources: []place{{e.sourceRef(spec.fieldsAt("sourceRef")), spec.text("path")}},
		namespace: spec.text("targetNamespace"), override: true, prune: spec.is("prune"),
		settles: spec.is("wait"), suspended: spec.is("suspend"), dependsOn: e.dependencies(),
	}
}

func (e *entry) dependencies() []key {
	var all []key
	for _, d := range e.fields.list("spec", "dependsOn") {
		k := key{e.group, e.kind, d.text("namespace"), d.text("name")}
		if k.namespace == "" {
			k.namespace = e.namespace
		}
		all = append(all, k)
	}
	return all
}

func (flux) missing(path string) string {
	return fmt.Sprintf("kustomization path not found: stat %s: no such file or directory", path)
}

func (flux) refused(r *refusal) string { return r.key.String() + " dry-run failed" + r.text }

func (flux) revision(_ *follower, a artifact) string { return fluxRevision(a.label, a.revision) }

func (flux) status(f *follower, w *work, now time.Time) map[string]any {
	conditions := fluxReady(w, "Applied revision: "+w.applied).list(w.generation, now)
	if f.settles {
		conditions = append(conditions, fluxHealthy(w).of("Healthy", w.generation, now))
	}
	status := map[string]any{"observedGeneration": w.generation, "conditions": conditions}
	if w.applied != "" {
		status["lastAppliedRevision"] = w.applied
	}
	if w.attempted != "" {
		status["lastAttemptedRevision"] = w.attempted
	}
	return status
}

func fluxReady(w *work, done string) condition {
	switch w.phase {
	case settled:
		return condition{"True", w.reason, done}
	case trying, settling:
		return condition{"Unknown", "Progressing", "Reconciliation in progress"}
	}
	return condition{"False", w.reason, w.message}
}

// fluxHealthy returns the Healthy condition of a Kustomization with wait: true.
func fluxHealthy(w *work) condition {
	switch w.phase {
	case settled:
		return condition{"True", "Succeeded", "Health check passed"}
	case settling:
		return condition{"Unknown", "Progressing", "Running health checks for revision " + w.attempted}
	}
	return condition{"Unknown", "Progressing", "Not checked"}
}
