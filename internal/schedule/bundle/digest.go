package bundle

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// digester collects inputs. Texts are preceded by their length, so that different lists of inputs never have equal
// bytes. The zero value is empty.
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

// inputs identify all inputs of a folder: two builds with equal inputs give equal folders. The zero value is that of no build.
type inputs struct {
	// assigned is what is assigned to a cluster type, shared what else it has in common with its clusters, base what all files
	// have in common.
	assigned, shared, base fleet.Digest
	// candidates are the layers and schemas that can apply.
	candidates fleet.Digest
	// published is what the branch holds.
	published fleet.Digest
	// readme and inventory are the paths on the branch that prevent writing these files.
	readme, inventory string
}

func (f *folderBuild) inputs(name string) inputs {
	i := inputs{assigned: f.assignedDigest, shared: f.shared, base: f.base, candidates: f.candidates.Digest()}
	if published := f.builder.published; published != nil {
		i.published = published.digestOf(name)
		i.readme, i.inventory = published.obstacle(readmePath(f.root, name)), published.obstacle(inventoryPath(f.root, name))
	}
	return i
}

// sharedDigest identifies the inputs that a cluster type has in common with its clusters, except for what is assigned to it: what all
// folders depend on.
func (f *folderBuild) sharedDigest(problems []fleet.Problem) fleet.Digest {
	var d digester
	d.digest(f.lost.digest)
	if f.options.Approved {
		d.texts("approved")
	}
	for _, g := range f.snapshot.Grants {
		d.digest(g.Digest)
	}
	for _, problem := range problems {
		d.problem(problem)
	}
	return d.sum()
}

// digestAssigned identifies what is assigned to a cluster type. If decisions have the same inputs as those of the previous bundle, it is the
// same as then.
func (f *folderBuild) digestAssigned(previous *Bundle) fleet.Digest {
	if f.previous != nil && previous.workload == f.options.Workload && previous.Decisions.SameInputs(f.decisions) {
		if known := f.previous.inputs.assigned; known != (fleet.Digest{}) {
			return known
		}
	}
	assigned := f.assigned()
	d := digester{make([]byte, 0, 80*len(assigned))}
	for _, a := range assigned {
		d.digest(a.Target.Digest)
		d.number(len(a.Policies))
		d.texts(a.Policies...)
		d.needs(a.DependsOn, a.Wave)
		if a.Held != nil {
			d.problem(*a.Held)
		}
	}
	return d.sum()
}

// baseOf identifies the inputs that all files of the folder, or of that of one of its clusters, share: the cluster type and its templates.
func (f *folderBuild) baseOf(ct *fleet.ClusterType) fleet.Digest {
	var d digester
	d.texts(f.snapshot.Environment, f.root, strconv.FormatBool(f.snapshot.GitOps != nil && f.snapshot.GitOps.RemoveHandedOver))
	d.digest(ct.Digest)
	for _, s := range f.templates {
		d.texts(s.file)
		if s.template != nil {
			d.texts(s.template.Name())
			d.digest(s.template.Digest())
		}
	}
	return d.sum()
}

// needs adds what an assignment depends on.
func (d *digester) needs(targets []*fleet.Target, wave int) {
	d.number(len(targets))
	d.number(wave)
	for _, t := range targets {
		d.texts(t.Name)
		d.digest(t.Digest)
	}
}

// assignmentDigest identifies the inputs of one assignment's files.
func (f *folderBuild) assignmentDigest(s *step) fleet.Digest {
	d := digester{make([]byte, 0, 3*len(fleet.Digest{}))}
	d.digest(f.base)
	d.digest(s.target.Digest)
	d.digest(s.assignment.Config.Digest)
	for _, g := range s.grants {
		d.digest(g.Digest)
	}
	d.needs(s.needs, s.data.Wave)
	return d.sum()
}
