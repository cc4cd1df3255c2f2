package placement

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// reuse takes over what policies assigned in earlier decisions, if nothing that decides has changed since. Expressions and
// scores cost far more than comparing what they depend on.
func (d *Decisions) reuse() bool {
	p := d.options.Previous
	if p == nil || p.digest != d.digest || d.digest == (fleet.Digest{}) {
		return false
	}
	for i := range d.candidates {
		d.candidates[i].on, d.candidates[i].held = p.candidates[i].on, p.candidates[i].held
	}
	d.problems, d.deps, d.held, d.standing = p.problems, p.deps, p.held, p.standing
	return true
}

// SameInputs reports whether two decisions, which may be nil, are surely equal because nothing that decides differs.
func (d *Decisions) SameInputs(other *Decisions) bool {
	return d != nil && other != nil && d.digest == other.digest && d.digest != (fleet.Digest{})
}

// inputs returns the digest of everything that decides. It is zero if something cannot be read, or others decide: what they say
// has no digest.
func (d *Decisions) inputs(s *fleet.Snapshot) fleet.Digest {
	if len(d.options.Answers) > 0 || len(s.Unreadable) > 0 {
		return fleet.Digest{}
	}
	h := sha256.New()
	writeText(h, d.environment)
	for _, t := range d.targets {
		writeText(h, t.Name)
		h.Write(t.Digest[:])
	}
	for _, ct := range d.clusterTypes {
		writeText(h, ct.Name)
		h.Write(ct.Digest[:])
	}
	for _, c := range d.candidates {
		writeText(h, c.policy.Name)
		h.Write(c.policy.Digest[:])
	}
	if d.depends() { // problems name the environments of what is missing
		for _, name := range slices.Sorted(maps.Keys(s.Elsewhere)) {
			writeText(h, name)
			writeText(h, s.Elsewhere[name])
		}
	}
	if d.options.Published != nil && (!d.isPlain() || d.depends()) {
		for pair, policies := range d.options.Published {
			writeText(h, pair.Target)
			writeText(h, pair.ClusterType)
			for _, policy := range policies {
				writeText(h, policy)
			}
			h.Write([]byte{0, 0})
		}
	}
	return fleet.Digest(h.Sum(nil))
}

// writeText adds a text with its length, so that different lists never have equal bytes.
func writeText(h hash.Hash, text string) {
	buf := binary.AppendUvarint(make([]byte, 0, 10+len(text)), uint64(len(text)))
	h.Write(append(buf, text...))
}
