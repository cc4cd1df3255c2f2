package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// oldestGit is the first version whose merge-tree writes trees.
var oldestGit = [2]int{2, 38}

// mergeTimeout bounds one run of git on commits, which holds the repository's lock.
const mergeTimeout = 2 * time.Minute

// checkGit returns an error if the git program does not run, or is too old to merge.
func checkGit(ctx context.Context, program string) error {
	output, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return &forge.Error{Kind: forge.ErrInvalid, Op: "run git version", Where: program, Detail: err.Error(), Hint: "install git", Cause: err}
	}
	var version [2]int
	_, err = fmt.Sscanf(string(output), "git version %d.%d", &version[0], &version[1])
	if err != nil || slices.Compare(version[:], oldestGit[:]) < 0 {
		return &forge.Error{
			Kind: forge.ErrInvalid, Op: "check the version of git", Where: program,
			Detail: fmt.Sprintf("it says %q", bytes.TrimSpace(output)),
			Hint:   fmt.Sprintf("install git %d.%d or later", oldestGit[0], oldestGit[1]),
		}
	}
	return nil
}

// neutral returns an empty repository. Git runs in it to work on another repository's objects,
// so it reads nothing else from that one: no configuration, attributes, hooks or references.
func (in *installation) neutral() string { return filepath.Join(in.Dir, "neutral.git") }

func (in *installation) prepareNeutral() error {
	if err := os.RemoveAll(in.neutral()); err != nil {
		return err
	}
	_, err := git.PlainInit(in.neutral(), true)
	return err
}

// baseEnvironment prevents git from reading configuration other than settings, and from prompting.
func (in *installation) baseEnvironment(settings ...[2]string) []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "HOME=" + in.temporary(),
		"GIT_TERMINAL_PROMPT=0", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)),
	}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

// run runs git on the repository's objects. It stores new objects in the folder written, or in the repository if empty.
// Exit code 1 is git's negative answer: ok is false and err is nil.
func (b bare) run(ctx context.Context, written string, args ...string) (output string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, mergeTimeout)
	defer cancel()
	program, limits := limited(b.in.git, args...)
	command := exec.CommandContext(ctx, program, limits...)
	command.Dir = b.in.neutral()
	command.Env = append(b.in.baseEnvironment(modest...), "GIT_DIR="+b.in.neutral(), "LC_ALL=C")
	objects := filepath.Join(b.dir, "objects")
	if written == "" {
		command.Env = append(command.Env, "GIT_OBJECT_DIRECTORY="+objects)
	} else {
		command.Env = append(command.Env, "GIT_OBJECT_DIRECTORY="+written, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoted(objects))
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return string(text), false, nil
	case err != nil:
		return "", false, fmt.Errorf("run git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(text), true, nil
}

// quoted escapes a path for a list that git splits at colons.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// nearest bounds the ancestors that descends reads. More of them take longer to read than git takes to start.
const nearest = 16

// descends reports whether old is among the nearest ancestors of a commit. Most branches are only a few commits ahead, so git
// is needed only if this is false: then old may still be further away.
func (b bare) descends(commit, old plumbing.Hash) bool {
	queue := []plumbing.Hash{commit}
	for i := 0; i < len(queue) && i < nearest; i++ {
		c, err := object.GetCommit(b, queue[i])
		if err != nil {
			return false // git explains it
		}
		for _, parent := range c.ParentHashes {
			if parent == old {
				return true
			}
			if !slices.Contains(queue, parent) {
				queue = append(queue, parent)
			}
		}
	}
	return false
}

// mergeBase returns the best common ancestor of two commits. It returns the zero hash if there is none.
func (b bare) mergeBase(ctx context.Context, one, other plumbing.Hash) (plumbing.Hash, error) {
	switch {
	case b.descends(other, one):
		return one, nil
	case b.descends(one, other):
		return other, nil
	}
	output, ok, err := b.run(ctx, "", "merge-base", one.String(), other.String())
	if err != nil || !ok {
		return plumbing.ZeroHash, err
	}
	return plumbing.NewHash(strings.TrimSpace(output)), nil
}

// contains reports whether a commit equals or descends from another. The zero hash contains nothing.
func (b bare) contains(ctx context.Context, commit, other plumbing.Hash) (bool, error) {
	if commit.IsZero() || commit == other {
		return commit == other && !commit.IsZero(), nil
	}
	switch {
	case b.descends(commit, other):
		return true, nil
	case b.descends(other, commit):
		return false, nil
	}
	_, ok, err := b.run(ctx, "", "merge-base", "--is-ancestor", other.String(), commit.String())
	return ok, err
}

// mergeTrees merges two commits and returns the tree. It stores the tree in the folder written, or in the repository if empty.
// The error [forge.ErrConflict] names the files with conflicting changes.
func (b bare) mergeTrees(ctx context.Context, written string, base, head plumbing.Hash) (plumbing.Hash, error) {
	if b.descends(head, base) {
		c, err := object.GetCommit(b, head)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		return c.TreeHash, nil // only one side has changes
	}
	output, ok, err := b.run(ctx, written, "merge-tree", "--write-tree", "--allow-unrelated-histories", "--name-only", "--no-messages", "-z",
		base.String(), head.String())
	if err != nil {
		return plumbing.ZeroHash, err
	}
	tree, files, _ := strings.Cut(output, "\x00")
	if !ok {
		return plumbing.ZeroHash, conflict(conflictsIn(strings.FieldsFunc(files, func(r rune) bool { return r == 0 }), base, head))
	}
	if removed, err := b.editedAndRemoved(ctx, base, head); err != nil || len(removed) > 0 {
		return plumbing.ZeroHash, cmp.Or(err, conflict(conflictsIn(removed)))
	}
	return plumbing.NewHash(tree), nil
}

// editedAndRemoved returns the files that one side edited and the other removed. If a similar file was added, git assumes
// a rename and edits that file. Generated manifests are all similar, so this would edit the wrong cluster's.
func (b bare) editedAndRemoved(ctx context.Context, base, head plumbing.Hash) ([]string, error) {
	common, err := b.mergeBase(ctx, base, head)
	if err != nil {
		return nil, err
	}
	ours, err := changesBetween(b, common, base)
	if err != nil {
		return nil, err
	}
	theirs, err := changesBetween(b, common, head)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{} // by the name of a file in the merge base
	for _, c := range ours {
		gone[c.From.Name] = c.To.Name == ""
	}
	var files []string
	for _, c := range theirs {
		if wasGone, touched := gone[c.From.Name]; touched && c.From.Name != "" && wasGone != (c.To.Name == "") {
			files = append(files, c.From.Name)
		}
	}
	return files, nil
}

// conflictsIn names the first few files. Git appends the side to a file that is a folder on the other side.
func conflictsIn(files []string, sides ...plumbing.Hash) string {
	const some = 5
	for i := range files {
		for _, side := range sides {
			files[i] = strings.TrimSuffix(files[i], "~"+side.String())
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if rest := len(files) - some; rest > 0 {
		return fmt.Sprintf("conflicts in %s and %d more", strings.Join(files[:some], ", "), rest)
	}
	return "conflicts in " + strings.Join(files, ", ")
}
