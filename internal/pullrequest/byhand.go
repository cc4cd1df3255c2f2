package pullrequest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// ByHand is a commit with values that a user set. It is on no branch yet.
type ByHand struct {
	// Environment names what it is about, for the name of a new branch. // required
	Environment string
	// Repo is the repository, Branch the one that gets the values in the end, and Base its commit that Commit was made on. // required
	Repo, Branch, Base, Commit string
	// Message is that of the commit. Its first line is the title of a pull request. // required
	Message string
	// Digest identifies the values and who set them: the same ones have one open pull request. // required
	Digest string
	// To is the branch that gets the commit: a new one, or Branch itself. Default: a new one, which is named after the digest.
	To string
	// Prefix begins the name of such a new branch. Default: set.
	Prefix string
	// PullRequest opens one for the new branch, on one of Forges, with the text Body.
	PullRequest bool
	Forges      Forges
	Body        string
}

// Written is where a commit of [WriteByHand] went.
type Written struct {
	// Branch is the branch. PullRequest is its pull request; nil if none was wanted.
	Branch      string
	PullRequest *forge.PullRequest
	// Known means that the pull request was open already, and that nothing was written.
	Known bool
}

// ErrOwnBranch is returned for a pull request from a branch to itself.
var ErrOwnBranch = errors.New("a pull request needs a branch of its own")

// DigestByHand returns the digest of values, and who set them.
func DigestByHand(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:6])
}

// SetOrRemoved describes which values are set and removed, for the message of a commit.
func SetOrRemoved(set, removed []string) string {
	var parts []string
	if len(set) > 0 {
		parts = append(parts, "set "+strings.Join(set, ", "))
	}
	if len(removed) > 0 {
		parts = append(parts, "remove "+strings.Join(removed, ", "))
	}
	return strings.Join(parts, " and ")
}

// WriteByHand moves a branch to the commit, and opens the pull request. No branch is overwritten. If a pull request for the same values is
// open, it returns that one. The error is [ErrMoved] if the branch is not where it was, or exists already.
func WriteByHand(ctx context.Context, commits Committer, b ByHand) (Written, error) {
	w := Written{Branch: b.To}
	if b.PullRequest && w.Branch == b.Branch {
		return Written{}, ErrOwnBranch
	}
	var on forge.Repository
	if b.PullRequest {
		host, err := b.Forges.Forge(b.Repo)
		if err != nil {
			return Written{}, err
		}
		if on, err = host.Repository(b.Repo); err != nil {
			return Written{}, err
		}
	}
	if w.Branch == "" {
		w.Branch = cmp.Or(b.Prefix, "set") + "/" + b.Environment + "-" + b.Digest
		if known, err := openByHand(ctx, on, w.Branch, b.Branch); known.PullRequest != nil || err != nil {
			return known, err
		}
	}
	if err := b.push(ctx, commits, &w); err != nil {
		return Written{}, err
	}
	if on == nil {
		return w, nil
	}
	title, _, _ := strings.Cut(b.Message, "\n")
	pr, err := on.OpenPullRequest(ctx, forge.NewPullRequest{Head: w.Branch, Base: b.Branch, Title: title, Body: b.Body})
	if err != nil {
		return w, fmt.Errorf("open a pull request for the branch %q: %w", w.Branch, err)
	}
	w.PullRequest = &pr
	return w, nil
}

// openByHand finds the open pull request of a branch, or of one that was named after it.
func openByHand(ctx context.Context, on forge.Repository, branch, base string) (Written, error) {
	if on == nil {
		return Written{}, nil
	}
	open, err := on.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open, Base: base})
	i := slices.IndexFunc(open, func(p forge.PullRequest) bool {
		return p.Head.Fork == "" && (p.Head.Branch == branch || strings.HasPrefix(p.Head.Branch, branch+"-"))
	})
	if err != nil || i < 0 {
		return Written{}, err
	}
	return Written{Branch: open[i].Head.Branch, PullRequest: &open[i], Known: true}, nil
}

// push moves the branch. One that is not named by the user, and is left from earlier, stays: then the commit is part of the name.
func (b *ByHand) push(ctx context.Context, commits Committer, w *Written) error {
	head, err := commits.Head(ctx, b.Repo, w.Branch)
	if err != nil {
		return err
	}
	if head != "" && head != b.Commit && b.To == "" {
		w.Branch += "-" + fleet.ShortCommit(b.Commit)
		if head, err = commits.Head(ctx, b.Repo, w.Branch); err != nil {
			return err
		}
	}
	if head == b.Commit {
		return nil
	}
	old := ""
	if w.Branch == b.Branch {
		old = b.Base
	}
	return commits.Push(ctx, b.Repo, w.Branch, old, b.Commit)
}
