package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Push moves a branch to a commit that is in the repository, if the branch is where the caller expects it:
// at the commit old, or nowhere if old is empty. Otherwise the error is ErrMoved.
//
// A local branch is moved in place, unless it is checked out in a work tree (ErrCheckedOut).
// A remote branch is moved by pushing what the remote lacks; it need not be a fast-forward.
// If the server refuses the push, for example because the branch is protected, the error is ErrDenied.
func (r *Repository) Push(ctx context.Context, branch, old string, c Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkBranch(branch, false); err != nil {
		return err
	}
	from, okOld := parseHash(old)
	to, okNew := parseHash(c.Hash)
	if r.store() == nil || !okNew || (!okOld && old != "") {
		return &Error{Kind: ErrInvalid, Op: fmt.Sprintf("push branch %q to", branch), Where: r.Name, Detail: "it needs the ids of commits of this repository"}
	}
	if r.remote != nil {
		return r.pushRemote(ctx, branch, from, to)
	}
	return r.moveLocal(branch, from, to)
}

func (r *Repository) pushRemote(ctx context.Context, branch string, from, to plumbing.Hash) error {
	name := plumbing.NewBranchReferenceName(branch)
	return r.moveRemote(ctx, name, from, to, func(conn *connection) error {
		objects, err := r.missing(ctx, to, conn.refs)
		if err != nil {
			return err
		}
		if err := r.send(ctx, conn, &packp.Command{Name: name, Old: from, New: to}, bytes.NewReader(encodePack(maps.All(objects)))); err != nil {
			return err
		}
		// The next Resolve then has nothing to fetch. If this fails, it just fetches.
		_ = r.store().own.SetReference(plumbing.NewHashReference(fetchedMark(branch), to))
		return nil
	})
}

// moveRemote calls send with a connection, alone, if a reference of the remote is at from and has to move.
func (r *Repository) moveRemote(ctx context.Context, name plumbing.ReferenceName, from, to plumbing.Hash, send func(*connection) error) error {
	unlock, err := r.remote.cache.lock(ctx, r.client.progress)
	if err != nil {
		return err
	}
	defer unlock()
	conn, err := r.client.connect(ctx, r.remote.location, pushing)
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.refs.References[name.String()] != from {
		return r.moved(strings.TrimPrefix(name.String(), "refs/heads/"))
	}
	if from == to {
		return nil
	}
	return send(conn)
}

func (r *Repository) send(ctx context.Context, conn *connection, command *packp.Command, pack io.Reader) error {
	session, ok := conn.Session.(transport.ReceivePackSession)
	if !ok {
		return errors.New("the session cannot push")
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(conn.refs.Capabilities)
	request.Commands = []*packp.Command{command}
	if kind := capability.Sideband64k; conn.refs.Capabilities.Supports(kind) {
		_ = request.Capabilities.Set(kind)
	}
	messages := &remoteMessages{}
	request.Progress = messages
	request.Packfile = io.NopCloser(pack)
	r.client.progress("pushing to " + r.Name)
	var report *packp.ReportStatus
	limit := r.client.Limits.orDefaults().Transfer
	err := r.client.bounded(ctx, "push to", r.remote.location, limit, "it did not take everything", func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
		report, err = session.ReceivePack(ctx, request)
		return err
	})
	if err == nil {
		return nil
	}
	return r.pushError(ctx, conn, command, report, messages, err)
}

// pushError distinguishes a branch that moved meanwhile from a push that the server refused.
func (r *Repository) pushError(ctx context.Context, conn *connection, command *packp.Command, report *packp.ReportStatus, messages *remoteMessages, err error) error {
	if report == nil {
		return remoteError(ctx, "push to", r.remote.location, conn.used, err)
	}
	branch := command.Name.Short()
	text := err.Error()
	// The messages of git, its successors and the forges. The command included the old value for them to compare.
	for _, sign := range []string{"incorrect old value", "already exists", "cannot lock ref", "failed to lock", "failed to update ref", "fetch first", "stale info", "reference changed"} {
		if strings.Contains(text, sign) {
			return r.moved(branch)
		}
	}
	detail := secret.Scrub(text, conn.used.secrets()...)
	if text := messages.text(); text != "" {
		detail += "; the server says: " + secret.Scrub(text, conn.used.secrets()...)
	}
	return &Error{
		Kind: ErrDenied, Op: fmt.Sprintf("push branch %q to", branch), Where: r.Name, Detail: detail,
		Hint: "the branch may be protected, or the credential may not write; name another branch, or allow it",
	}
}

func (r *Repository) moved(branch string) error {
	return &Error{
		Kind: ErrMoved, Op: fmt.Sprintf("push branch %q to", branch), Where: r.Name,
		Detail: "another user or program moved, created or deleted it meanwhile", Hint: "run the command again",
	}
}

// maxUnpushed is the maximum number of commits in one push.
const maxUnpushed = 1000

// missing collects what a remote lacks of a commit: commits back to those that it has, and their changes.
func (r *Repository) missing(ctx context.Context, to plumbing.Hash, refs *packp.AdvRefs) (map[plumbing.Hash]pendingObject, error) {
	known := map[plumbing.Hash]bool{}
	for _, hash := range refs.References {
		known[hash] = true
	}
	// A remote keeps old heads of branches at least for a while, and refuses the push if it does not.
	for _, hash := range r.store().fetchedHeads() {
		if hash != to {
			known[hash] = true
		}
	}
	m := missing{store: r.store(), objects: map[plumbing.Hash]pendingObject{}}
	commits := 0
	queue := []plumbing.Hash{to}
	for len(queue) > 0 {
		hash := queue[0]
		queue = queue[1:]
		if _, collected := m.objects[hash]; collected || known[hash] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if commits++; commits > maxUnpushed {
			return nil, &Error{
				Kind: ErrMoved, Op: "push to", Where: r.Name, Detail: "it shares no history with what is to be pushed",
				Hint: "resolve the branch again and build on its head",
			}
		}
		parents, err := m.commit(hash)
		if err != nil {
			return nil, r.readError(ctx, "collect what to push to", err)
		}
		queue = append(queue, parents...)
	}
	return m.objects, nil
}

// missing collects objects to push.
type missing struct {
	store   *store
	objects map[plumbing.Hash]pendingObject
}

// commit collects a commit and its changes to its first parent, and returns the parents.
func (m *missing) commit(hash plumbing.Hash) ([]plumbing.Hash, error) {
	content, err := m.take(hash, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	c, err := decodeCommit(content)
	if err != nil {
		return nil, err
	}
	base := emptyTree
	if len(c.ParentHashes) > 0 {
		parent, err := m.store.object(c.ParentHashes[0], plumbing.CommitObject, maxStructure)
		if err != nil {
			return nil, err
		}
		decoded, err := decodeCommit(parent)
		if err != nil {
			return nil, err
		}
		base = decoded.TreeHash
	}
	return c.ParentHashes, m.tree(c.TreeHash, base)
}

// tree collects what a tree has and its base has not.
func (m *missing) tree(hash, base plumbing.Hash) error {
	if _, collected := m.objects[hash]; hash == base || collected {
		return nil
	}
	if _, err := m.take(hash, plumbing.TreeObject); err != nil {
		return err
	}
	entries, err := m.store.tree(hash)
	if err != nil {
		return err
	}
	baseEntries, err := m.store.tree(base)
	if err != nil {
		return err
	}
	before := make(map[string]treeEntry, len(baseEntries))
	for _, e := range baseEntries {
		before[e.name] = e
	}
	for _, e := range entries {
		if err := m.entry(e, before[e.name]); err != nil {
			return err
		}
	}
	return nil
}

func (m *missing) entry(e, before treeEntry) error {
	switch {
	case e.hash == before.hash || e.mode == Submodule:
		return nil
	case e.mode == Subfolder && before.mode == Subfolder && before.name != "":
		return m.tree(e.hash, before.hash)
	case e.mode == Subfolder:
		return m.tree(e.hash, emptyTree)
	}
	_, err := m.take(e.hash, plumbing.BlobObject)
	return err
}

func (m *missing) take(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	// The empty tree can be read without being stored, but it must be pushed.
	if hash == emptyTree {
		m.objects[hash] = pendingObject{kind, nil}
		return nil, nil
	}
	content, err := m.store.object(hash, kind, 1<<31)
	if err == nil {
		m.objects[hash] = pendingObject{kind, content}
	}
	return content, err
}

// remoteMessages keeps a server's first messages about a push, in which hooks explain refusals.
type remoteMessages struct{ b bytes.Buffer }

func (m *remoteMessages) Write(p []byte) (int, error) {
	if m.b.Len() < 4096 {
		m.b.Write(p)
	}
	return len(p), nil
}

func (m *remoteMessages) text() string { return strings.TrimSpace(m.b.String()) }
