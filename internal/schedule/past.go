package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// maxPast is how many commits of a GitOps branch are searched, from the head.
	maxPast = 2000
	// DefaultPast is how many versions are returned if a request does not say it.
	DefaultPast = 20
	// MaxPast is how many are returned at most.
	MaxPast = 200
	// maxChanged is how many changed folders of a version are listed.
	maxChanged = 100
)

// Past answers which commits of the GitOps branch changed the platform's files of an environment. It reads Git only.
type Past struct {
	Loader    *Loader   // required
	Histories Histories // required
}

// Histories reads the commits of GitOps branches.
type Histories interface {
	// Past returns the commits that a branch pointed to, newest first: at most limit of them. more reports that there are older ones.
	Past(ctx context.Context, at Location, limit int) (commits []PastCommit, more bool, err error)
}

// PastCommit is a commit that a branch pointed to.
type PastCommit struct {
	SHA string
	// Author and Title are those of the commit, as it says without proof.
	Author, Title string
	Time          time.Time
	// Hash identifies the content of a folder; empty if there is none.
	Hash func(ctx context.Context, path string) (string, error)
	// Messages returns the message of the commit and of those that it merged, newest first.
	Messages func(ctx context.Context) ([]string, error)
}

// PlatformVersion is a solution version of the platform: what a merged commit has for an environment.
type PlatformVersion struct {
	// Commit is the commit of the GitOps branch, Merged its time.
	Commit string    `json:"commit"`
	Merged time.Time `json:"merged"`
	// By is the author of the commit, as it says without proof. Title is the first line of its message.
	By    string `json:"by,omitempty"`
	Title string `json:"title,omitempty"`
	// Environment and Main are the commits of the environment's branch and of main that it was made from; empty if the merged commits do not name them.
	Environment string `json:"environment,omitempty"`
	Main        string `json:"main,omitempty"`
	// Folders is how many folders of cluster types and clusters it has, Changed lists those that differ from the version before, at most 100.
	Folders int      `json:"folders"`
	Changed []string `json:"changed"`
	// Current means that the branch has it now.
	Current bool `json:"current"`
}

// PlatformPast are the versions of the platform in an environment.
type PlatformPast struct {
	Environment string `json:"environment"`
	// Repository, Branch and Path are where the files are.
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Path       string `json:"path,omitempty"`
	// Versions are sorted, the newest first.
	Versions []PlatformVersion `json:"versions"`
	// More means that there are older ones, or can be: only some of the commits were read.
	More bool `json:"more,omitempty"`

	loaded *Loaded
	at     Location
	// digests are those of the folders that were read.
	digests bundle.FolderDigests
}

// Versions returns the newest commits that changed the files of an environment. A limit of 0 is [DefaultPast].
func (p *Past) Versions(ctx context.Context, r Request, limit int) (*PlatformPast, error) {
	limit = min(cmp.Or(max(limit, 0), DefaultPast), MaxPast)
	loaded, err := p.Loader.Load(ctx, r)
	if err != nil {
		return nil, err
	}
	at, err := p.Loader.gitOpsLocation(loaded, "")
	if err != nil {
		return nil, err
	}
	past := &PlatformPast{
		Environment: r.Environment, Repository: secret.Redact(at.Repo), Branch: at.Branch, Path: at.Path, Versions: []PlatformVersion{}, loaded: loaded, at: at, digests: bundle.FolderDigests{},
	}
	p.Loader.progress("reading the history of branch " + at.Branch)
	commits, more, err := p.Histories.Past(ctx, at, maxPast)
	if errors.Is(err, ErrNoBranch) {
		return past, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history of branch %q: %w", at.Branch, err)
	}
	past.More = more
	for i := 0; i < len(commits); {
		oldest, err := sameContent(ctx, commits, i, at.Path)
		if err != nil {
			return nil, err
		}
		if len(past.Versions) == limit {
			past.More = true
			break
		}
		v, err := p.version(ctx, past, commits, oldest)
		if err != nil {
			return nil, err
		}
		if v != nil {
			v.Current = i == 0
			past.Versions = append(past.Versions, *v)
		}
		i = oldest + 1
	}
	return past, nil
}

// sameContent returns the position of the oldest of the commits from a position on that have the same content.
func sameContent(ctx context.Context, commits []PastCommit, from int, folder string) (oldest int, err error) {
	hash, err := commits[from].Hash(ctx, folder)
	for oldest = from; err == nil && oldest+1 < len(commits); oldest++ {
		var before string
		if before, err = commits[oldest+1].Hash(ctx, folder); before != hash {
			break
		}
	}
	return oldest, err
}

// version describes a commit; nil for one that has no files of the environment, and none before it.
func (p *Past) version(ctx context.Context, past *PlatformPast, commits []PastCommit, i int) (*PlatformVersion, error) {
	c := commits[i]
	now, err := p.folders(ctx, past, c.SHA)
	if err != nil {
		return nil, err
	}
	var before map[string]string
	if i+1 < len(commits) {
		if before, err = p.folders(ctx, past, commits[i+1].SHA); err != nil {
			return nil, err
		}
	}
	if len(now)+len(before) == 0 {
		return nil, nil
	}
	messages, err := c.Messages(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the message of commit %s: %w", fleet.ShortCommit(c.SHA), err)
	}
	v := &PlatformVersion{Commit: c.SHA, Merged: c.Time.UTC(), By: c.Author, Title: secret.Line(c.Title), Folders: len(now), Changed: []string{}}
	if recorded := recordedIn(messages); recorded != nil {
		v.Environment, v.Main = recorded(past.loaded.Inputs.Branch.Name, Location{}), recorded(past.loaded.Inputs.Main.Name, Location{})
	}
	all := maps.Clone(now)
	maps.Copy(all, before)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if now[name] != before[name] && len(v.Changed) < maxChanged {
			v.Changed = append(v.Changed, name)
		}
	}
	return v, nil
}

// folders returns what identifies the files of each folder at a commit, by name.
func (p *Past) folders(ctx context.Context, past *PlatformPast, commit string) (map[string]string, error) {
	at := past.at
	at.Commit = commit
	branch, _, err := p.Loader.Repositories.GitOps(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", fleet.ShortCommit(commit), err)
	}
	branch.Root = at.Path
	return branch.FolderDigests(past.digests)
}
