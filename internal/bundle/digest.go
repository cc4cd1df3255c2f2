package bundle

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// digester collects inputs. Texts are preceded by their length, so that no two lists of inputs look the same.
// The zero value has none.
type digester struct{ inputs []byte }

func (d *digester) texts(texts ...string) {
	for _, text := range texts {
		d.number(len(text))
		d.inputs = append(d.inputs, text...)
	}
}

func (d *digester) number(n int) { d.inputs = binary.BigEndian.AppendUint64(d.inputs, uint64(n)) }

func (d *digester) ref(r fleet.Ref) { d.texts(r.Kind, r.Name) }

func (d *digester) position(p fleet.Position) {
	d.texts(p.Source, p.File)
	d.number(p.Line)
}

func (d *digester) problem(p fleet.Problem) {
	d.texts(string(p.Severity), string(p.Kind), p.Assignment, p.Message, p.Hint)
	d.ref(p.Object)
	d.position(p.Position)
}

func (d *digester) digest(other fleet.Digest) { d.inputs = append(d.inputs, other[:]...) }

func (d *digester) hash(h Hash) { d.inputs = append(d.inputs, h[:]...) }

func (d *digester) sum() fleet.Digest { return sha256.Sum256(d.inputs) }
