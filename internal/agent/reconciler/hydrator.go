package reconciler

import (
	"fmt"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// hydrated returns the report of an Application whose manifests Argo CD renders to another branch, from which it synchronizes:
// https://argo-cd.readthedocs.io/en/stable/user-guide/source-hydrator/
//
//	dry source ─ the hydrator ─► hydrated branch ─► cluster
//
// The report is about the dry source, which people and Kalypso write. Argo CD says of one hydrated commit from which dry commit it was
// made: the last one. Which dry commit runs is not known if another one was synchronized.
func hydrated(o object) hub.Report {
	dry := o.objectAt("spec", "sourceHydrator", "drySource")
	r := hub.Report{Repository: address(dry.text("repoURL")), Ref: argoRef(dry), Path: folder(dry.text("path"))}
	r.State, r.Message = argoState(o)
	r.Health, r.Unhealthy = argoHealth(o), argoUnhealthy(o)
	runs := argoRevision(o, r.State, 0)
	r.Revision, r.Applied = madeFrom(o, runs), madeFrom(o, argoApplied(o, 0))
	now := o.objectAt("status", "sourceHydrator", "currentOperation")
	switch {
	case now.text("phase") == "Failed" && (r.State == hub.StateReady || r.State == hub.StateProgressing) && !o.removing():
		r.State, r.Revision = hub.StateFailed, revision(now.text("drySHA"))
		r.Message = "cannot be hydrated: " + now.text("message")
	case runs != "" && r.Revision == "":
		branch := o.text("spec", "sourceHydrator", "syncSource", "targetBranch")
		r.Message = join(r.Message, fmt.Sprintf("cannot be judged: Argo CD does not say from which commit %s of the branch %q was made", runs, branch))
	}
	return r
}

// madeFrom returns the dry commit from which a hydrated one was made; empty if Argo CD does not say.
func madeFrom(o object, commit string) string {
	last := o.objectAt("status", "sourceHydrator", "lastSuccessfulOperation")
	if commit == "" || commit != last.text("hydratedSHA") ||
		last.text("sourceHydrator", "drySource", "repoURL") != o.text("spec", "sourceHydrator", "drySource", "repoURL") {
		return ""
	}
	return revision(last.text("drySHA"))
}
