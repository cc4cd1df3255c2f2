package deliver

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Histories reads the commits of GitOps branches.
type Histories interface {
	// History returns the commits that a branch pointed to, newest first, from its head or the commit of at: at most limit of them.
	// more reports that there are older ones. It returns [schedule.ErrNoBranch] if the branch does not exist.
	History(ctx context.Context, at schedule.Location, limit int) (commits []PastCommit, more bool, err error)
}

// PastCommit is a commit that a branch pointed to.
type PastCommit struct {
	SHA string
	// Author and Title are those of the commit. The author of a merge is the user who merged, unless the forge writes another one.
	Author, Title string
	Time          time.Time
	Content       PastContent
}

// PastContent is what a commit has. Its methods contact no remote.
type PastContent interface {
	// Hash identifies the content of a file, or of a folder with all files below it; empty if there is none at the path.
	Hash(ctx context.Context, path string) (string, error)
	// Read returns the content of a file; nil if there is none at the path.
	Read(ctx context.Context, path string) ([]byte, error)
	// Messages returns the message of the commit and of those that it merged, newest first.
	Messages(ctx context.Context) ([]string, error)
}

// changedAt returns the content of some paths at each commit, and the positions of the commits that changed it. The oldest commit counts
// as a change if it has content and none before it was left out.
func changedAt(ctx context.Context, commits []PastCommit, more bool, paths ...string) (contents []string, changed []int, err error) {
	for i, c := range commits {
		content := ""
		for n, at := range paths {
			hash, err := c.Content.Hash(ctx, at)
			if err != nil {
				return nil, nil, fmt.Errorf("read commit %s: %w", fleet.ShortCommit(c.SHA), err)
			}
			if hash != "" {
				content += fmt.Sprintf("%d:%s ", n, hash)
			}
		}
		contents = append(contents, content)
		if i > 0 && content != contents[i-1] {
			changed = append(changed, i-1)
		}
	}
	if last := len(contents) - 1; last >= 0 && contents[last] != "" && !more {
		changed = append(changed, last)
	}
	return contents, changed, nil
}

// merge describes a commit of a GitOps branch.
func (c PastCommit) merge(ctx context.Context) (Merge, error) {
	messages, err := c.Content.Messages(ctx)
	if err != nil {
		return Merge{}, fmt.Errorf("read the message of commit %s: %w", fleet.ShortCommit(c.SHA), err)
	}
	return Merge{Commit: c.SHA, Merged: c.Time.UTC(), By: c.Author, Title: c.Title, Configuration: configOf(messages)}, nil
}

// described returns the build in the descriptor of a target; zero if there is none.
func (c PastCommit) described(ctx context.Context, root, target string) (Build, error) {
	content, err := c.Content.Read(ctx, tree.DescriptorPath(root, target))
	if err != nil || content == nil {
		return Build{}, err
	}
	return describedBuild(content), nil
}
