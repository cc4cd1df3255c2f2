package bundle

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// digester collects inputs. Texts are preceded by their length, so that no two lists of inputs look the same.
type digester struct{ hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) texts(texts ...string) {
	for _, text := range texts {
		d.number(len(text))
		d.Write([]byte(text))
	}
}

func (d digester) number(n int) {
	var size [8]byte
	d.Write(binary.BigEndian.AppendUint64(size[:0], uint64(n)))
}

func (d digester) ref(r fleet.Ref) { d.texts(r.Kind, r.Name) }

func (d digester) position(p fleet.Position) {
	d.texts(p.Source, p.File)
	d.number(p.Line)
}

func (d digester) problem(p fleet.Problem) {
	d.texts(string(p.Severity), string(p.Kind), p.Assignment, p.Message, p.Hint)
	d.ref(p.Object)
	d.position(p.Position)
}

func (d digester) digest(other fleet.Digest) { d.Write(other[:]) }

func (d digester) sum() fleet.Digest { return fleet.Digest(d.Sum(nil)) }
