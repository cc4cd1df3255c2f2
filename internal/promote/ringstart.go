package promote

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// setStarts sets at which commits the rings of an environment start that do not take part in rollouts yet, or not
// any more.
func (r *round) setStarts(l *lane, place EnvironmentState) {
	for i := range place.Rings.Stages {
		s, ring := &place.Rings.Stages[i], &l.places[i]
		switch {
		case s.Unknown != "":
		case s.Head == "":
			ring.start, ring.startWhy = r.startOf(l, place, s), "the ring had no branch yet"
		case s.Stale:
			ring.start, ring.startWhy = s.Commit, "its refs changed"
		default:
			ring.start, ring.startWhy = r.leftBehind(place, s), "the environment went on without rings"
			if ring.start == "" && r.journal.page(ring.Environment).left() {
				ring.start, ring.startWhy = r.startOf(l, place, s), "it has clusters again, which were in other batches"
			}
		}
	}
}

// ranWell reports whether the commit of a stage passed its gate and its verifications there, and did not fail since.
func (l *lane) ranWell(s *RingState) bool {
	name := decide.RingName(l.environment, s.Name)
	return slices.ContainsFunc(l.decisions, func(d decide.Decision) bool {
		return d.Environment == name && d.Commit == s.Commit && (d.State.Deployed() || d.State == decide.Unproven || d.State == decide.Drifted)
	})
}

// startOf returns the commit at which a stage starts that had no clusters. It depends on the stages that its
// clusters were in until now. It returns "" for a stage that gets its first commit as any other, after the earlier
// ones: nothing was deployed in the environment before.
func (r *round) startOf(l *lane, place EnvironmentState, s *RingState) string {
	page := func(of *RingState) *page { return r.journal.page(decide.RingName(place.Environment, of.Name)) }
	present := func(before *RingState) bool {
		return before.Name != s.Name && before.Commit != "" && !page(before).left()
	}
	failed := func(before *RingState, commit string) bool { return page(before).recordedFailure(commit) }
	start := place.Rings.before(s.Stage, present, failed)
	along := place.Rings.newest(func(other *RingState) bool { return other.hadClustersOf(s.Stage) && l.ranWell(other) })
	if s.Head != "" && place.Rings.position(along) > place.Rings.position(start) {
		start = along // its branch was moved along
	}
	if start != "" || !r.journal.page(place.Environment).deployedOnce() {
		return start
	}
	return place.Rings.start(s.Stage, present, l.ranWell)
}

// leftBehind returns the commit at which a ring starts again after the environment went on without rings: the one
// that all clusters run since then. It returns "" for a ring that takes part in rollouts.
func (r *round) leftBehind(place EnvironmentState, s *RingState) string {
	position := place.Rings.position
	own := r.journal.page(decide.RingName(place.Environment, s.Name))
	for _, page := range []*page{own, r.journal.page(decide.RingName(place.Environment, s.Ring))} {
		if order := page.pendingOrder(); order != nil && order.Commit == s.Commit {
			return "" // it went back because a user said so, and that is not recorded yet
		}
	}
	started := own.started()
	for _, step := range slices.Backward(r.journal.page(place.Environment).records) {
		if step.Kind == decide.StepDeployed {
			if position(step.Revision) > position(s.Commit) && step.At.After(started) {
				return step.Revision
			}
			return ""
		}
	}
	return ""
}

// start returns the commit at which a stage starts whose clusters were in no other stage: the newest that ran well
// in the ring, or the oldest of the ring, or of all rings, so that no cluster gets a commit that earlier rings have
// not run; or the newest, if no ring has a branch yet, which is what clusters follow without rings. present selects
// the stages that have had clusters until now.
func (r *Rings) start(stage fleet.Stage, present, ranWell func(s *RingState) bool) string {
	all := slices.DeleteFunc(slices.Concat(r.Stages, r.Former), func(s RingState) bool { return !present(&s) })
	inRing := func(s *RingState) bool { return s.Ring == stage.Ring && ranWell(s) }
	return cmp.Or(r.newest(inRing), r.oldest(all, stage), head(r.Line))
}

// before returns the commit of the stages that the clusters of a stage were in before: that of the batch that was
// divided, or the newest of those that were joined and of the stages that its clusters had of their own, unless it
// failed there. For the stage of one cluster, it is that of the batch that it was in. It returns "" if there are
// none.
func (r *Rings) before(stage fleet.Stage, present func(s *RingState) bool, failed func(s *RingState, commit string) bool) string {
	all := slices.DeleteFunc(slices.Concat(r.Stages, r.Former), func(s RingState) bool { return !present(&s) })
	if cluster, own := stage.Own(); own {
		return batchOf(all, stage.Ring, cluster)
	}
	whole := ""
	var from []RingState
	for bits := stage.Bits(); bits != "" && whole == ""; {
		bits = bits[:len(bits)-1]
		name := fleet.StageName(stage.Ring, bits)
		if i := slices.IndexFunc(all, func(s RingState) bool { return s.Name == name && s.Commit != "" }); i >= 0 {
			whole, from = all[i].Commit, append(from, all[i])
		}
	}
	for _, s := range all {
		cluster, own := s.Own()
		if whole == "" && s.partOf(stage) || own && s.Ring == stage.Ring && slices.Contains(stage.Clusters, cluster) {
			from = append(from, s)
		}
	}
	has := func(commit string) bool {
		gaveUp := func(s RingState) bool { return s.Commit != commit && failed(&s, commit) }
		return slices.ContainsFunc(from, func(s RingState) bool { return s.Commit == commit && !failed(&s, commit) }) && !slices.ContainsFunc(from, gaveUp)
	}
	for _, c := range slices.Backward(r.Line) {
		if has(c.SHA) {
			return c.SHA
		}
	}
	return whole
}

// newest returns the newest commit of some of the stages, or "".
func (r *Rings) newest(wanted func(s *RingState) bool) string {
	for _, c := range slices.Backward(r.Line) {
		if slices.ContainsFunc(r.Stages, func(s RingState) bool { return s.Commit == c.SHA && wanted(&s) }) {
			return c.SHA
		}
	}
	return ""
}

// batchOf returns the commit of the batch that a cluster would be in if it had no stage of its own; "" if there is
// none with a commit.
func batchOf(all []RingState, ring, cluster string) string {
	var names []string
	for i := range all {
		if all[i].Ring == ring && all[i].Commit != "" {
			names = append(names, all[i].Name)
		}
	}
	name := fleet.BatchOf(ring, cluster, names)
	if i := slices.IndexFunc(all, func(s RingState) bool { return s.Name == name }); i >= 0 {
		return all[i].Commit
	}
	return ""
}

// partOf reports whether a batch is one of those into which another one was divided.
func (s *RingState) partOf(whole fleet.Stage) bool {
	_, own := s.Own()
	return !own && s.Ring == whole.Ring && s.Name != whole.Name && strings.HasPrefix(s.Bits(), whole.Bits())
}

// hadClustersOf reports whether the clusters of a stage would be in a batch if it were not divided, and if they had
// no stages of their own.
func (s *RingState) hadClustersOf(batch fleet.Stage) bool {
	cluster, own := s.Own()
	return s.partOf(batch) || own && s.Ring == batch.Ring && fleet.BatchOf(s.Ring, cluster, []string{batch.Name}) != ""
}

// follows returns the commit that the branch of a former batch should have: that of the batches that its clusters
// are in now. If they have several, it is the newest that ran well, so that no cluster leaves it if the batch has
// clusters again.
func (r *Rings) follows(former fleet.Stage, ranWell func(s *RingState) bool) string {
	if cluster, own := former.Own(); own {
		return cmp.Or(r.ofCluster(cluster), batchOf(r.Stages, former.Ring, cluster), r.oldest(r.Stages, former))
	}
	for bits := former.Bits(); bits != ""; {
		bits = bits[:len(bits)-1]
		name := fleet.StageName(former.Ring, bits)
		if i := slices.IndexFunc(r.Stages, func(s RingState) bool { return s.Name == name && s.Commit != "" }); i >= 0 {
			return r.Stages[i].Commit
		}
	}
	mine := func(s *RingState) bool { return s.hadClustersOf(former) && ranWell(s) }
	return cmp.Or(r.newest(mine), r.oldest(r.Stages, former))
}

// ofCluster returns the commit of the stage that lists a cluster; "" if there is none.
func (r *Rings) ofCluster(cluster string) string {
	i := slices.IndexFunc(r.Stages, func(s RingState) bool { return slices.Contains(s.Clusters, cluster) })
	if i < 0 {
		return ""
	}
	return r.Stages[i].Commit
}

// oldest returns the oldest commit of the batches that a batch consists of, or else of its ring, or else of all.
func (r *Rings) oldest(all []RingState, of fleet.Stage) string {
	for _, wanted := range []func(s *RingState) bool{
		func(s *RingState) bool { return s.partOf(of) },
		func(s *RingState) bool { return s.Ring == of.Ring },
		func(*RingState) bool { return true },
	} {
		for _, c := range r.Line {
			if slices.ContainsFunc(all, func(s RingState) bool { return s.Name != of.Name && s.Commit == c.SHA && wanted(&s) }) {
				return c.SHA
			}
		}
	}
	return ""
}
