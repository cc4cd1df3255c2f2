package simulate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// finish ends an attempt: it applies everything or nothing.
func (m *machine) finish(ctx context.Context, f *follower, w *work, now time.Time) bool {
	a := w.attempt
	w.attempt, w.tried = nil, a.of
	w.again = m.nextTry(now)
	manifests, err := m.manifests(ctx, f, a)
	var wrong *buildError
	switch {
	case ctx.Err() != nil:
		w.tried = "" // unknown: start again next time
		return false
	case errors.As(err, &wrong) && wrong.missing != "":
		w.fail("ArtifactFailed", f.dialect.missing(wrong.missing))
		return true
	case err != nil:
		w.fail("BuildFailed", problemOf(err))
		return true
	}
	if r := m.refuse(f, manifests); r != nil {
		w.fail("ReconciliationFailed", f.dialect.refused(r))
		return true
	}
	m.apply(f, manifests, now)
	w.outcome = outcome{phase: settled, reason: "ReconciliationSucceeded", attempted: w.attempted, applied: w.attempted}
	w.history++
	if until := m.store.availableAt(f.key); f.settles && until.After(now) {
		w.phase, w.again = settling, until
	}
	return true
}

func (w *work) fail(reason, message string) {
	w.phase, w.reason, w.message = failed, reason, message
}

// nextTry returns when a failed attempt is retried.
func (m *machine) nextTry(now time.Time) time.Time { return now.Add(m.lagging(2 * m.config.Poll)) }

func (m *machine) manifests(ctx context.Context, f *follower, a *attempt) ([]*manifest, error) {
	var all []*manifest
	for i, art := range a.artifacts {
		if art.fixed {
			continue
		}
		some, err := m.config.Sources.build(ctx, art.url, art.commit, folder{f.sources[i].path, f.flat, f.namespace, f.override})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// refuse returns why manifests cannot be applied: they are invalid, or the cluster is set to fail.
func (m *machine) refuse(f *follower, all []*manifest) *refusal {
	with := all
	if f.createNamespace && f.namespace != "" {
		with = append(slices.Clip(all), namespace(f.namespace))
	}
	if r := m.store.admit(all, with); r != nil {
		return r
	}
	if !m.fails(f) {
		return nil
	}
	r := &refusal{f.key, " (InternalError): the simulated cluster is set to fail", false}
	for i, o := range all {
		if i == 0 || runsPods(o.key) {
			r = &refusal{o.key, ` (Forbidden): admission webhook "simulated.kalypso.io" denied the request: the simulated cluster is set to fail`, false}
		}
	}
	return r
}

// fails reports whether the cluster is set to fail this reconciler.
func (m *machine) fails(f *follower) bool {
	only := m.behaviour.Only
	if m.behaviour.Mode != Failing {
		return false
	}
	if only == "" || f.name == only || strings.HasSuffix(f.name, "-"+only) || strings.HasSuffix(f.namespace, "-"+only) {
		return true
	}
	if e := m.store.entries[key{kind: "Namespace", name: f.namespace}]; e != nil {
		labels := e.fields.fieldsAt("metadata", "labels")
		return labels.text("workload") == only || labels.text("deploymentTarget") == only
	}
	return false
}

func (m *machine) apply(f *follower, all []*manifest, now time.Time) {
	if ns := namespace(f.namespace); f.createNamespace && m.store.entries[ns.key] == nil {
		m.store.put(ns, key{}, now, m.delay)
	}
	m.store.apply(all, f.key, f.prune, now, m.delay)
}
