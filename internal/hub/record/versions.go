package record

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxDescriptor limits files with descriptors, in bytes; larger files are ignored.
const maxDescriptor = 1 << 20

// versions reads the deployment descriptors in all folders of the branch.
func (r *reading) versions(ctx context.Context) error {
	files, err := finder{r.lookForDescriptors, &r.files.descriptors}.find(ctx, r.commit.Tree)
	if err != nil {
		return err
	}
	known := map[versionKey]Entry{}
	for _, file := range files {
		all, err := parsed(ctx, r, file, r.describe)
		if err != nil {
			return err
		}
		for _, d := range all {
			r.version(file, d, known)
		}
	}
	r.name()
	return nil
}

// versionKey identifies what has one version.
type versionKey struct{ workload, target, environment, path string }

// version adds the version of a descriptor, unless it describes another branch or repeats another file.
func (r *reading) version(file Entry, d description, known map[versionKey]Entry) {
	v := d.version
	key := versionKey{v.Workload, v.Target, v.Environment, v.Path}
	first, twice := known[key]
	switch {
	case d.repository != "" && ledger.CleanRepository(d.repository) != r.branch.Repository || d.branch != "" && d.branch != r.branch.Branch:
		r.problem(file, &unreadable{
			kind: fleet.KindWrongBranch, line: d.line,
			message: fmt.Sprintf("it describes manifests of branch %q of %q instead of its own branch; it is ignored", d.branch, secret.Redact(d.repository)),
			hint:    "let manifests name this repository and branch",
		})
	case twice:
		r.problem(file, &unreadable{
			kind: fleet.KindDuplicate, line: d.line,
			message: fmt.Sprintf("it describes workload %q in folder %q like %q, which counts", v.Workload, v.Path, first.Path),
			hint:    "delete one of them",
		})
	default:
		known[key] = file
		r.found.versions = append(r.found.versions, v)
	}
}

// name sets the environment and the source commit if all versions have the same.
func (r *reading) name() {
	environments, commits := map[string]bool{}, map[string]bool{}
	for _, v := range r.found.versions {
		environments[v.Environment], commits[v.Commit] = true, true
	}
	if len(environments) == 0 {
		for _, asked := range r.memory.asked {
			environments[asked] = true
		}
	}
	r.belongTo(environments)
	for commit := range commits {
		if len(commits) == 1 && r.found.source == "" {
			r.found.source = commit
		}
	}
}

// lookForDescriptors selects YAML files with descriptors, including invalid ones.
func (r *reading) lookForDescriptors(ctx context.Context, tree Tree, folder Entry, entries []Entry) (files found, enter []Entry, err error) {
	for _, e := range entries {
		if e.Folder {
			enter = append(enter, e)
			continue
		}
		if ext := strings.ToLower(path.Ext(e.Path)); ext != ".yaml" && ext != ".yml" {
			continue
		}
		all, err := r.describe(ctx, tree, e)
		var bad *unreadable
		if err != nil && !errors.As(err, &bad) {
			return nil, nil, err
		}
		if bad != nil || len(all) > 0 {
			files = append(files, relative(e, folder))
		}
	}
	return files, enter, nil
}

// describe reads the descriptors of a file.
func (r *reading) describe(ctx context.Context, tree Tree, file Entry) ([]description, error) {
	if known, ok := r.files.descriptions.get(file.Hash); ok {
		return known.result()
	}
	content, err := tree.Read(ctx, file, maxDescriptor)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	var s said[[]description]
	s.value, s.bad = parseDescriptors(content)
	r.files.descriptions.put(file.Hash, s, 1+len(s.value))
	return s.result()
}
