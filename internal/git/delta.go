package git

import (
	"bytes"
	"encoding/binary"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// minDelta and maxDelta bound the sizes of blobs that are stored as deltas: smaller ones gain nothing, and indexes of lines are kept in memory.
	minDelta, maxDelta = 64, 1<<16 - 1
	// smallDelta is the size of a delta that takes no more space than a blob of about twice the size that is compressed.
	smallDelta = 192
	// maxBases bounds the number of bases.
	maxBases = 1 << 10
	// maxBeginning bounds what blobs have to share to be compared.
	maxBeginning = 128
)

// deltas finds blobs that differ from an earlier one of the same pack in a few lines, as generated manifests do. A delta between lines takes
// a tenth of the time of compressing a blob, and a third of the space.
type deltas struct {
	bases map[string]*deltaBase
	delta []byte
}

// deltaBase is a blob with its lines.
type deltaBase struct {
	hash    plumbing.Hash
	content []byte
	// lines are the offsets of the lines, each of the first of equal ones.
	lines map[string]int
}

// of returns the delta of a blob, and the blob that it is to be applied to. The delta is valid until the next call. If there is none,
// the blob has to be stored whole: it can be the base of others.
func (d *deltas) of(hash plumbing.Hash, content []byte) (base plumbing.Hash, delta []byte, ok bool) {
	if len(content) < minDelta || len(content) > maxDelta {
		return base, nil, false
	}
	key := beginning(content)
	if known := d.bases[string(key)]; known != nil {
		d.delta = known.appendDelta(d.delta[:0], content)
		if len(d.delta) <= max(len(content)/2, min(len(content), smallDelta)) {
			return known.hash, d.delta, true
		}
	}
	if d.bases == nil || len(d.bases) >= maxBases {
		d.bases = map[string]*deltaBase{}
	}
	d.bases[string(key)] = newDeltaBase(hash, content)
	return base, nil, false
}

// beginning returns the first two lines of a manifest, which are its version and kind. Only blobs that begin alike are compared.
func beginning(content []byte) []byte {
	first := bytes.IndexByte(content, '\n') + 1
	second := bytes.IndexByte(content[first:], '\n') + 1
	return content[:min(first+second, maxBeginning)]
}

func newDeltaBase(hash plumbing.Hash, content []byte) *deltaBase {
	b := &deltaBase{hash: hash, content: content, lines: make(map[string]int, bytes.Count(content, []byte("\n"))+1)}
	at := 0
	for line := range bytes.Lines(content) {
		if _, known := b.lines[string(line)]; !known {
			b.lines[string(line)] = at
		}
		at += len(line)
	}
	return b
}

// appendDelta appends the delta that makes content from the base: both sizes, then texts to insert and parts of the base to copy; see
// https://git-scm.com/docs/pack-format#_deltified_representation.
func (b *deltaBase) appendDelta(delta, content []byte) []byte {
	delta = binary.AppendUvarint(delta, uint64(len(b.content)))
	delta = binary.AppendUvarint(delta, uint64(len(content)))
	insert, at := 0, 0 // the base does not have content[insert:at]
	from, to := 0, 0   // the part of the base that equals what ends at the current line
	for line := range bytes.Lines(content) {
		if from == to || !bytes.HasPrefix(b.content[to:], line) {
			delta = appendCopy(delta, from, to)
			from, to = 0, 0
			found, ok := b.lines[string(line)]
			if !ok {
				at += len(line)
				continue
			}
			delta = appendInsert(delta, content[insert:at])
			from, to = found, found
		}
		at += len(line)
		to += len(line)
		insert = at
	}
	return appendCopy(appendInsert(delta, content[insert:at]), from, to)
}

// appendInsert appends instructions that insert a text.
func appendInsert(delta, text []byte) []byte {
	for len(text) > 0 {
		n := min(len(text), 0x7f)
		delta = append(append(delta, byte(n)), text[:n]...)
		text = text[n:]
	}
	return delta
}

// appendCopy appends the instruction that copies a part of a base that is no longer than maxDelta. Bytes of the offset and the size
// that are zero are left out.
func appendCopy(delta []byte, from, to int) []byte {
	if from == to {
		return delta
	}
	at, op := len(delta), byte(0x80)
	delta = append(delta, 0)
	for i, b := range [...]int{from, from >> 8, 4: to - from, (to - from) >> 8} {
		if byte(b) != 0 {
			op |= 1 << i
			delta = append(delta, byte(b))
		}
	}
	delta[at] = op
	return delta
}
