package reconciler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// meanings are what words in the status of custom resources say. A condition is named after what it reports, "DatabaseReady" or "SyncFailed", and a
// phase after what goes on. judges/health compares them with the examples that Argo CD has labelled by hand.
var meanings = func() map[string]hub.State {
	all := map[string]hub.State{}
	for state, words := range map[hub.State]string{
		hub.StateReady: "ready available healthy synced synchronized succeeded success successful complete completed accepted programmed established installed " +
			"deployed released valid bound active promoted registered initialized reconciled applied running provisioned resolved created exists open " +
			"online ok normal up green connected enabled finished done approved issued pass passed",
		hub.StateFailed: "failed fail failing failure error errors errored invalid degraded unhealthy stalled fallback crashed aborted rejected denied lost red " +
			"timeout mismatch conflict expired unavailable broken misconfigured inconclusive warn err " +
			"terminal exceeded blocked unreachable unschedulable missing drifted drift stale insufficient unresolved unsupported crash backoff " +
			"offline dead killed disconnected critical cancelled canceled incomplete exhausted evicted unsuccessful unready undeployed corrupt corrupted violated violations",
		hub.StateProgressing: "pending progress unknown queued scheduled new requested submitted yellow",
		hub.StateSuspended:   "paused suspended stopped halted hibernation hibernated disabled",
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] = state
		}
	}
	return all
}()

// meaning returns what a name such as "SyncFailed", "NotReady" or "in_progress" says; "" if it says nothing. What counts most comes first: a failure,
// a suspension, progress.
func meaning(name string) hub.State {
	words := wordsOf(name)
	var found []hub.State
	negated := false
	for _, word := range words {
		state := meanings[word]
		if state == "" && strings.HasSuffix(word, "ing") {
			state = hub.StateProgressing
		}
		switch {
		case slices.Contains(negations, word):
			negated = true
			continue
		case state == "" && negated && len(words) > 1:
			found = append(found, hub.StateProgressing) // "not allowed"
		case state == "":
		case negated && state == hub.StateReady:
			found = append(found, hub.StateFailed)
		case negated:
			found = append(found, hub.StateReady)
		default:
			found = append(found, state)
		}
		negated = false
	}
	for _, state := range []hub.State{hub.StateFailed, hub.StateSuspended, hub.StateProgressing, hub.StateReady} {
		if slices.Contains(found, state) {
			return state
		}
	}
	return ""
}

// negations turn the meaning of the next word around.
var negations = []string{"not", "no", "non", "cannot", "without", "out", "partially"}

// wordsOf splits a name at capitals and signs.
func wordsOf(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// phases are the words that the names of fields end with that have one word for a status, or for a part of it.
var phases = []string{"phase", "state", "status", "health"}

// isCustom reports whether the kind is not one of Kubernetes itself.
func (o object) isCustom() bool {
	group, _, found := strings.Cut(o.text("apiVersion"), "/")
	return found && strings.Contains(group, ".") && !slices.Contains(builtinGroups, group)
}

// builtinGroups are the groups of Kubernetes with a dot in their names.
var builtinGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
	"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// custom returns the state of a custom resource, and why it is not ready; false if its status does not say. What counts most comes first: a
// failure, a suspension, the condition Ready, progress, other conditions, parts, a phase.
func custom(o object) (state hub.State, message string, known bool) {
	phase, word := o.phase()
	conditions := o.conditionsBy()
	if state, message = broken(o, phase, word, conditions); state != "" {
		return state, message, true
	}
	ready := o.condition("Ready")
	switch text := o.errorText(); {
	case ready.status != "":
		if state, message = readiness(o, ready); state != hub.StateReady {
			return state, message, true
		}
	case text != "":
		return hub.StateFailed, text, true
	case phase == hub.StateProgressing:
		return hub.StateProgressing, "is " + word, true
	}
	for _, c := range append(conditions[hub.StateReady], o.nested()...) {
		if state, message = readiness(o, c); state != hub.StateReady && (ready.status == "" || c.status == "False") {
			return state, message, true
		}
	}
	if part := cmp.Or(o.failingPart(), o.failures()); part != "" {
		return hub.StateProgressing, part, true
	}
	return hub.StateReady, "", ready.status != "" || phase == hub.StateReady || len(conditions[hub.StateReady]) > 0
}

// broken returns the state of a custom resource that failed or is suspended; "" for others.
func broken(o object, phase hub.State, word string, conditions map[hub.State][]condition) (hub.State, string) {
	for _, field := range []string{"suspend", "suspended", "paused"} {
		if o.is("spec", field) {
			return hub.StateSuspended, "spec." + field + " is set"
		}
	}
	progress := o.condition("Progressing")
	failed, paused := conditions[hub.StateFailed], conditions[hub.StateSuspended]
	switch {
	case len(failed) > 0 && failed[0].status == "True":
		return hub.StateFailed, join(failed[0].message, failed[0].reason)
	case phase == hub.StateFailed:
		return hub.StateFailed, "is " + word
	case progress.status == "False" && meaning(progress.reason) == hub.StateFailed:
		return hub.StateFailed, join(progress.message, progress.reason)
	case len(paused) > 0 && paused[0].status == "True":
		return hub.StateSuspended, paused[0].message
	case phase == hub.StateSuspended:
		return hub.StateSuspended, "is " + word
	}
	return "", ""
}

// errorText returns what the status has as its error.
func (o object) errorText() string {
	return cmp.Or(o.text("status", "error"), o.text("status", "errorMessage"), o.text("status", "failureReason"), o.text("status", "failureMessage"))
}

// readiness returns the state that a condition gives which is true when an object is ready.
func readiness(o object, c condition) (hub.State, string) {
	synced := o.condition("Synced")
	switch {
	case c.status == "False" || c.status == "Unknown":
		return hub.StateProgressing, c.message
	case c.status != "" && o.outdated(c):
		return hub.StateProgressing, ""
	case synced.status == "False":
		return hub.StateProgressing, join(synced.message, "is not synced")
	}
	return hub.StateReady, ""
}

// phase returns what the words in a status say, and the one that counts: a failure, or the first one.
func (o object) phase() (state hub.State, word string) {
	status := o.objectAt("status")
	for _, field := range slices.Sorted(maps.Keys(status)) {
		if !isPhase(field) {
			if inner, isMap := status[field].(map[string]any); isMap { // such as status.ceph.health
				state, word = worse(state, word, object(inner).text("health"), false)
			}
			continue
		}
		if inner, isMap := status[field].(map[string]any); isMap { // such as status.health.status
			for _, name := range phases {
				state, word = worse(state, word, object(inner).text(name), false)
			}
			continue
		}
		text, _ := status[field].(string)
		state, word = worse(state, word, text, slices.Contains(phases, field))
	}
	return state, word
}

// isPhase reports whether a field is named after a phase, such as "clusterState".
func isPhase(field string) bool {
	words := wordsOf(field)
	return len(words) > 0 && slices.Contains(phases, words[len(words)-1])
}

// worse adds a text to what the words before say. A text about a part says something only if it is a failure, a suspension or progress.
func worse(state hub.State, word, text string, whole bool) (hub.State, string) {
	if text == "" || len(text) > 100 {
		return state, word
	}
	s := meaning(text)
	switch {
	case s == "" || !whole && (s == hub.StateReady || strings.EqualFold(text, "unknown")):
	case state == "" || state == hub.StateReady || s == hub.StateFailed:
		return s, text
	}
	return state, word
}

// nested returns the conditions of parts of a status that are true when they are ready, such as those of the listeners of a gateway.
func (o object) nested() []condition {
	var all []condition
	for _, name := range slices.Sorted(maps.Keys(o.objectAt("status"))) {
		if name != "conditions" {
			all = append(all, nested(o.at("status", name), maxParts)...)
		}
	}
	return all
}

// maxParts limits how deep parts of a status are read.
const maxParts = 5

func nested(value any, depth int) (all []condition) {
	switch v := value.(type) {
	case map[string]any:
		if depth == 0 {
			return nil
		}
		all = append(all, object{"status": v}.conditionsBy()[hub.StateReady]...)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, nested(v[name], depth-1)...)
		}
	case []any:
		for _, e := range v {
			if _, isList := e.([]any); !isList {
				all = append(all, nested(e, depth)...)
			}
		}
	}
	return all
}

// conditionsBy returns the conditions by what their names say, those that are true first.
func (o object) conditionsBy() map[hub.State][]condition {
	all := map[hub.State][]condition{}
	for _, c := range o.objects("status", "conditions") {
		if state := meaning(c.text("type")); state != "" {
			all[state] = append(all[state], conditionOf(c))
		}
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b condition) int {
			switch {
			case a.status == b.status:
				return 0
			case a.status == "True":
				return -1
			case b.status == "True":
				return 1
			}
			return 0
		})
	}
	return all
}

// failingPart returns a word of a part of the status, or the reason of a condition, that says that it failed.
func (o object) failingPart() string {
	for _, c := range o.objects("status", "conditions") {
		if reason := c.text("reason"); meaning(c.text("type")) != hub.StateFailed && meaning(reason) == hub.StateFailed {
			return "a condition says " + reason
		}
	}
	if word := failingPart(o["status"], maxParts); word != "" {
		return "a part is " + word
	}
	return ""
}

func failingPart(value any, depth int) string {
	if depth == 0 {
		return ""
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text, isText := v[name].(string); isText && isPhase(name) && meaning(text) == hub.StateFailed {
				return text
			}
			if name == "conditions" {
				continue
			}
			if part := failingPart(v[name], depth-1); part != "" {
				return part
			}
		}
	case []any:
		for _, e := range v {
			if part := failingPart(e, depth-1); part != "" {
				return part
			}
		}
	}
	return ""
}

// failures returns a field of the status that counts or lists failures, such as "failedTasks: 2", or that denies success, such as "healthy: false".
func (o object) failures() string {
	status := o.objectAt("status")
	for _, name := range slices.Sorted(maps.Keys(status)) {
		says := meaning(name)
		if yes, isBool := status[name].(bool); isBool && (yes && says == hub.StateFailed || !yes && says == hub.StateReady) {
			return fmt.Sprintf("%s: %t", name, yes)
		}
		if says != hub.StateFailed {
			continue
		}
		count := status.number(name)
		switch v := status[name].(type) {
		case []any:
			count = int64(len(v))
		case map[string]any:
			count = int64(len(v))
		}
		if count > 0 {
			return fmt.Sprintf("%s: %d", name, count)
		}
	}
	return ""
}

// verdictKey is where [trim] keeps what [custom] says, because that reads all of the status.
const verdictKey = "kalypsoVerdict"

// unsaid is why an object is not ready whose status has nothing that says so.
const unsaid = "its status does not say whether it is ready"

// keepVerdict adds what the status of a custom resource says to what is kept of it.
func keepVerdict(o object, kept map[string]any) {
	if !o.isCustom() {
		return
	}
	state, message, known := custom(o)
	if !known {
		state, message = hub.StateProgressing, unsaid
	}
	kept[verdictKey] = map[string]any{"state": string(state), "message": message}
}

// verdict returns what the status of a custom resource says, which is ready only if it says so.
func (o object) verdict() (hub.State, string) {
	kept := map[string]any(o)
	if kept[verdictKey] == nil {
		kept = map[string]any{}
		keepVerdict(o, kept)
	}
	v := object(kept).objectAt(verdictKey)
	return hub.State(v.text("state")), v.text("message")
}
