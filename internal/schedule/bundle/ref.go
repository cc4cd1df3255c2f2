package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Ref is a file whose objects follow a branch that has rings of its own: that of an application. On the branch of a ring, they
// follow the branch of the application's ring instead, and nothing else is different there.
type Ref struct {
	// File is the path of the file below the root.
	File string `json:"file"`
	// Repo and Branch are what the objects follow on the environment's branch.
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	// Rings are the rings of the application, in order. Clusters of other rings are in the last one.
	Rings []string `json:"rings"`
}

// ringsKey is the key of a target's manifests that names the rings of its branch.
const ringsKey = "rings"

// RefOf returns the branch that clusters of a ring follow.
func (r *Ref) RefOf(ring string) string {
	if !slices.Contains(r.Rings, ring) {
		ring = r.Rings[len(r.Rings)-1]
	}
	return fleet.RingBranch(r.Branch, ring)
}

// In returns the content of the file for a ring, and how many refs in it name the branch. These are the values that equal the branch, in
// objects with a value that equals the repository.
func (r *Ref) In(content []byte, ring string) (changed []byte, refs int) {
	var found []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return content, 0
		}
		found = append(found, r.refsIn(&doc)...)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	// From the last to the first, so that columns stay right.
	slices.SortFunc(found, func(a, b *yaml.Node) int { return cmp.Or(cmp.Compare(b.Line, a.Line), cmp.Compare(b.Column, a.Column)) })
	for _, n := range found {
		if n.Line > len(lines) {
			return content, 0 // YAML knows other ends of lines, too
		}
		line := lines[n.Line-1]
		at := columnOf(line, n)
		if !bytes.HasPrefix(line[at:], []byte(r.Branch)) {
			return content, 0
		}
		lines[n.Line-1] = slices.Concat(line[:at], []byte(r.RefOf(ring)), line[at+len(r.Branch):])
	}
	return bytes.Join(lines, nil), len(found)
}

// columnOf returns where the text of a value begins in its line, in bytes.
func columnOf(line []byte, n *yaml.Node) int {
	at := 0
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		at++
	}
	return min(at, len(line))
}

// refsIn returns the values of an object that equal the branch, if another one equals the repository. Names and labels do not count.
func (r *Ref) refsIn(doc *yaml.Node) []*yaml.Node {
	var refs []*yaml.Node
	repo := false
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		switch n.Kind {
		case yaml.ScalarNode:
			repo = repo || n.Value == r.Repo
			if n.Value == r.Branch && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
				refs = append(refs, n)
			}
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value != "metadata" && n.Content[i].Value != "kind" {
					walk(n.Content[i+1])
				}
			}
		default:
			for _, c := range n.Content {
				walk(c)
			}
		}
	}
	walk(doc)
	if !repo {
		return nil
	}
	return refs
}

// refs returns the files whose refs depend on the ring, sorted. What is held keeps what is published.
func (r *ringBuild) refs(published *publishedRings) []Ref {
	kept := map[string]Ref{}
	if published != nil {
		for _, ref := range published.refs {
			kept[ref.File] = ref
		}
	}
	targets := map[string]*fleet.Target{}
	for _, t := range r.snapshot.Targets {
		if t.Manifests[ringsKey] != "" {
			targets[t.Name] = t
		}
	}
	var all []Ref
	for _, f := range r.result.Folders {
		for i := range f.Assignments {
			a := &f.Assignments[i]
			file := path.Join(f.Name, a.Target, reconcilerName)
			if a.Held != nil {
				if ref, ok := kept[file]; ok {
					all = append(all, ref)
				}
				continue
			}
			if t := targets[a.Target]; t != nil {
				all = append(all, r.ref(a, t, file)...)
			}
		}
	}
	slices.SortFunc(all, func(x, y Ref) int { return cmp.Compare(x.File, y.File) })
	return all
}

// ref returns the ref of a rendered assignment. A target whose reconciler has no such ref is a problem: all its clusters would get a
// commit at once.
func (r *ringBuild) ref(a *Assignment, t *fleet.Target, file string) []Ref {
	ref := Ref{File: file, Repo: t.Manifests["repo"], Branch: cmp.Or(t.Manifests["branch"], "main"), Rings: splitRings(t.Manifests[ringsKey])}
	wrong := ""
	written, ok := a.File(reconcilerName)
	switch {
	case len(ref.Rings) == 0:
		wrong = fmt.Sprintf("manifests.%s names no ring", ringsKey)
	case t.Manifests["tag"] != "":
		wrong = fmt.Sprintf("manifests.%s has no effect on a tag", ringsKey)
	case !ok:
		wrong = fmt.Sprintf("manifests.%s has no effect without %s", ringsKey, reconcilerName)
	default:
		content := written.Content()
		if content == nil {
			content, _ = r.published.Read(written.Path)
		}
		if _, refs := ref.In(content, ref.Rings[0]); refs > 0 {
			return []Ref{ref}
		}
		wrong = fmt.Sprintf("no object of its reconciler follows branch %q of %s, so that manifests.%s has no effect", ref.Branch, ref.Repo, ringsKey)
	}
	r.problems = append(r.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindInvalidValue, Assignment: a.Name(),
		Object: fleet.Ref{Kind: "DeploymentTarget", Name: t.Name}, Position: t.Position, Message: wrong,
		Hint: "all clusters follow the branch itself until this is corrected",
	})
	return nil
}

// splitRings splits a list with commas.
func splitRings(text string) []string {
	var rings []string
	for ring := range strings.SplitSeq(text, ",") {
		if ring = strings.TrimSpace(ring); isFolderName(ring) && !slices.Contains(rings, ring) {
			rings = append(rings, ring)
		}
	}
	return rings
}

// RefsOf returns the files that differ between the branch of an environment and those of its rings, from the content of [RingsPath].
func RefsOf(content []byte) ([]Ref, error) {
	file, err := decodeRings(content)
	if err != nil {
		return nil, err
	}
	return file.Refs, nil
}

// RingsPath returns the path of the file with the rings.
func RingsPath(root string) string { return ringsPath(root) }
