package schedule

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// RollbackRequest selects the version of the platform that an environment goes back to.
type RollbackRequest struct {
	Request
	// Version is the commit of a version on the GitOps branch, or the beginning of it. // required
	Version string
	// Author is who rolls back.
	Author editing.Author
	// Message is the message of the commit. Default: what is rolled back. When is the commit's time, unless its parent is later. Required.
	Message string
	When    time.Time
}

// Rollback is a commit that gives the environment's branch the files that it had for a version, and what it does. The commit is on no branch yet.
// The branch stays the truth: what is rolled back is reviewed, and undone by a revert. BaseRepo and GitOpsRepo are left alone: the promoted commit
// of main is moved by promotions.
type Rollback struct {
	Environment string          `json:"environment"`
	Version     PlatformVersion `json:"version"`
	// Repo, Branch and Base are the repository, branch and commit that was changed, Files the changed files, sorted.
	Repo   string   `json:"repo"`
	Branch string   `json:"branch"`
	Base   string   `json:"base"`
	Files  []string `json:"files"`
	// Commit has the files; empty if the branch has them already.
	Commit  string `json:"commit,omitempty"`
	Message string `json:"message"`
	// Main is the promoted commit of main now. The version can have another one.
	Main string `json:"main,omitempty"`
	// Differs are the folders that have other files than the version, also after this, sorted: main or a workload changed since.
	Differs []string `json:"differs"`
	// Digest identifies the version and the author.
	Digest string `json:"-"`
	// Plan is what it changes; absent without a commit.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Problems are the errors that it causes.
	Problems []fleet.Problem `json:"problems"`
}

// Rollback makes the commit, and determines what it changes.
func (d *Drafter) Rollback(ctx context.Context, commits pullrequest.Committer, histories Histories, r RollbackRequest) (*Rollback, error) {
	past := &Past{d.Loader, histories}
	known, err := past.Versions(ctx, r.Request, MaxPast)
	if err != nil {
		return nil, err
	}
	to, err := known.find(r.Version)
	if err != nil {
		return nil, err
	}
	if to.Environment == "" {
		return nil, fmt.Errorf("it is not known which commit of the environment's branch version %s was made from: its messages do not name it", fleet.ShortCommit(to.Commit))
	}
	in := known.loaded.Inputs.Branch
	if in.Commit == "" {
		return nil, fmt.Errorf("the branch of %s is a plain folder, which has no commits", r.Environment)
	}
	b := &Rollback{
		Environment: r.Environment, Version: *to, Repo: in.Repo, Branch: in.Branch, Base: in.Commit, Files: []string{}, Differs: []string{}, Problems: []fleet.Problem{},
		Main:    known.loaded.Inputs.Main.Commit,
		Message: cmp.Or(r.Message, fmt.Sprintf("%s: roll the platform back to version %s", r.Environment, fleet.ShortCommit(to.Commit))),
		Digest:  pullrequest.DigestByHand(r.Environment, to.Commit, r.Author.Name, r.Author.Login),
	}
	at := known.loaded.at
	at.Commit = ""
	on, err := d.Loader.Repositories.Contains(ctx, at, to.Environment)
	if err != nil {
		return nil, fmt.Errorf("find commit %s: %w", fleet.ShortCommit(to.Environment), err)
	}
	if !on {
		return nil, fmt.Errorf("commit %s is not on branch %q any more: it was rewritten", fleet.ShortCommit(to.Environment), at.Branch)
	}
	put, remove, err := d.Loader.restore(ctx, known.loaded, to.Environment)
	if err != nil {
		return nil, err
	}
	b.Files = slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(put)), remove)))
	changed := r.Request
	if len(b.Files) > 0 {
		when := r.When
		if in.Time.After(when) {
			when = in.Time
		}
		b.Commit, err = commits.Commit(ctx, pullrequest.Commit{Repo: b.Repo, Branch: b.Branch, Parent: b.Base, Put: put, Delete: remove, Message: b.Message, When: when})
		if err != nil {
			return nil, fmt.Errorf("commit to the branch %q: %w", b.Branch, err)
		}
		changed.BranchRef = b.Commit
	}
	base := r.Request
	base.BranchRef = b.Base
	draft, err := d.Draft(ctx, DraftRequest{Request: changed, Base: &base})
	if err != nil {
		return nil, err
	}
	if b.Commit != "" {
		b.Plan = draft.Plan
		b.Problems = append(b.Problems, fleet.SortProblems(append(draft.CheckEdits(r.Author), draft.NewProblems...))...)
	}
	b.Differs, err = past.differs(ctx, known, to.Commit, draft.Bundle)
	return b, err
}

// find returns the version of a commit, or of the beginning of it.
func (p *PlatformPast) find(version string) (*PlatformVersion, error) {
	const minPrefix = 4
	var found []*PlatformVersion
	for i := range p.Versions {
		if v := &p.Versions[i]; len(version) >= minPrefix && strings.HasPrefix(v.Commit, version) {
			found = append(found, v)
		}
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("several versions begin with %q; write more of the commit", version)
	case len(found) == 0:
		return nil, fmt.Errorf("%q is not one of the last %d versions of the platform in %s", version, len(p.Versions), p.Environment)
	case found[0].Current:
		return nil, fmt.Errorf("%s has version %s", p.Environment, fleet.ShortCommit(found[0].Commit))
	}
	return found[0], nil
}

// restore returns what gives the environment's branch the files of one of its commits. It leaves out hidden files, such as workflows, and files with
// the BaseRepo or GitOpsRepo, now or then.
func (l *Loader) restore(ctx context.Context, loaded *Loaded, commit string) (put map[string][]byte, remove []string, err error) {
	at := loaded.at
	at.Commit = loaded.Inputs.Branch.Commit
	now, kept, err := l.written(ctx, at, nil)
	if err != nil {
		return nil, nil, err
	}
	at.Commit = commit
	then, kept, err := l.written(ctx, at, kept)
	if err != nil {
		return nil, nil, err
	}
	put = map[string][]byte{}
	for name, file := range then {
		if kept[name] || now[name].ID == file.ID && now[name].Symlink == file.Symlink {
			continue
		}
		if file.Symlink || now[name].Symlink {
			return nil, nil, fmt.Errorf("%q is or was a symbolic link; restore it by hand", name)
		}
		content, err := file.Read()
		if err != nil {
			return nil, nil, fmt.Errorf("read %q of commit %s: %w", name, fleet.ShortCommit(commit), err)
		}
		if before, there := now[name]; there {
			if was, err := before.Read(); err == nil && bytes.Equal(was, content) {
				continue
			}
		}
		put[name] = content
	}
	for name := range now {
		if _, stays := then[name]; !stays && !kept[name] {
			remove = append(remove, name)
		}
	}
	slices.Sort(remove)
	return put, remove, nil
}

// written returns the files at a location that are not hidden, and adds those with a BaseRepo or GitOpsRepo to kept.
func (l *Loader) written(ctx context.Context, at Location, kept map[string]bool) (map[string]fleet.File, map[string]bool, error) {
	all, err := l.Repositories.Files(ctx, at)
	if err != nil {
		return nil, nil, fmt.Errorf("read commit %s: %w", fleet.ShortCommit(at.Commit), err)
	}
	files := map[string]fleet.File{}
	for _, f := range all {
		if !strings.Contains("/"+below(at.Path, f.Path), "/.") {
			files[f.Path] = f
		}
	}
	source, err := l.Repositories.Source(ctx, at)
	if err != nil {
		return nil, nil, fmt.Errorf("read commit %s: %w", fleet.ShortCommit(at.Commit), err)
	}
	if kept == nil {
		kept = map[string]bool{}
	}
	objects := fleet.Read(l.Cache, source)
	for _, o := range objects.BaseRepos {
		kept[o.Position.File] = true
	}
	for _, o := range objects.GitOpsRepos {
		kept[o.Position.File] = true
	}
	return files, kept, nil
}

// differs returns the folders with other files in a bundle than at a commit of the GitOps branch.
func (p *Past) differs(ctx context.Context, past *PlatformPast, commit string, b *bundle.Bundle) ([]string, error) {
	then, err := p.folders(ctx, past, commit)
	if err != nil {
		return nil, err
	}
	var files []bundle.File
	for f := range b.Files {
		files = append(files, f)
	}
	now, err := bundle.Branch{Root: past.at.Path, Top: bundle.TreeOf(files)}.FolderDigests(nil)
	if err != nil {
		return nil, err
	}
	differs := []string{}
	all := maps.Clone(now)
	maps.Copy(all, then)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if now[name] != then[name] {
			differs = append(differs, name)
		}
	}
	return differs, nil
}
