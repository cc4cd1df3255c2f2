package fleet

import (
	"crypto/sha256"
	"encoding/binary"
)

// Digest is a SHA-256 of an object or a set of inputs.
type Digest [sha256.Size]byte

// with returns the digest of d together with texts and numbers.
// Texts are prefixed with their length, so that different lists have different digests.
func (d Digest) with(texts []string, numbers ...int) Digest {
	buf := make([]byte, 0, 256)
	buf = append(buf, d[:]...)
	for _, text := range texts {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	for _, number := range numbers {
		buf = binary.BigEndian.AppendUint64(buf, uint64(number))
	}
	return sha256.Sum256(buf)
}

// combine returns the digest of several digests.
func combine(digests ...Digest) Digest {
	h := sha256.New()
	for _, d := range digests {
		h.Write(d[:])
	}
	return Digest(h.Sum(nil))
}
