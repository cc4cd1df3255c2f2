package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// fetch fetches objects of one remote into its cached clone.
// A connection can fetch once; more fetches open more connections.
type fetch struct {
	repo  *Repository
	store *store
	conn  *connection
	spent bool
}

// ensure fetches a reference's commit with its history, unless it is in the cache, and records that.
func (f *fetch) ensure(ctx context.Context, name string, hash plumbing.Hash) error {
	mark := fetchedMark(name)
	known, err := f.store.reference(mark)
	fetched := err == nil && known == hash
	_, err = f.store.size(hash)
	switch {
	case err == nil && fetched:
		return nil
	case err != nil && (fetched || !errors.Is(err, plumbing.ErrObjectNotFound)):
		return f.repo.corrupt("read cached clone of", err)
	case err != nil:
		if err := f.get(ctx, hash); err != nil {
			return err
		}
	}
	if err := f.store.own.SetReference(plumbing.NewHashReference(mark, hash)); err != nil {
		return f.repo.remote.cache.error("write", f.store.dir, err)
	}
	return nil
}

// fetchedMark returns the reference that keeps a fetched branch. It is not named like the branch, because
// a branch "a" that was deleted on the remote must not block "a/b".
func fetchedMark(name string) plumbing.ReferenceName {
	return plumbing.ReferenceName("refs/fetched/" + objectHash(plumbing.BlobObject, []byte(name)).String())
}

// ensureCommit makes sure that a commit is in the cache. Usually it is in the branch's history and already fetched;
// otherwise it is fetched by its ID if the server allows that.
func (f *fetch) ensureCommit(ctx context.Context, hash plumbing.Hash) error {
	if _, err := f.store.size(hash); err == nil {
		return nil
	}
	allowed := f.conn.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant)
	for _, advertised := range f.conn.refs.References {
		allowed = allowed || advertised == hash
	}
	if !allowed {
		return f.repo.noCommit(hash.String())
	}
	if err := f.get(ctx, hash); err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || f.repo.client.sources.paused(f.repo.remote.location) != nil {
			return err
		}
		return f.repo.noCommit(hash.String())
	}
	return nil
}

// get fetches a commit with its history.
func (f *fetch) get(ctx context.Context, hash plumbing.Hash) error {
	l := f.repo.remote.location
	conn := f.conn
	if f.spent {
		again, err := f.repo.client.connect(ctx, l, fetching)
		if err != nil {
			return err
		}
		defer again.Close()
		conn = again
	}
	f.spent = true
	session, ok := conn.Session.(transport.UploadPackSession)
	if !ok {
		return errors.New("the session cannot fetch")
	}
	f.repo.client.progress("fetching " + f.repo.Name)
	limits := f.repo.client.Limits.orDefaults()
	begun := time.Now()
	err := f.repo.client.bounded(ctx, "fetch", l, limits.Transfer, "it did not send everything", func(ctx context.Context, cancel context.CancelCauseFunc) error {
		pack := newMeter(limits, cancel)
		defer pack.stop()
		return f.receive(ctx, session, f.request(conn, hash), pack)
	})
	if err != nil {
		if err = remoteError(ctx, "fetch", l, conn.used, err); errors.Is(err, ErrTooLarge) {
			f.repo.client.sources.refused(l, err, time.Since(begun), limits.Pause)
		}
		return err
	}
	if _, err := f.store.size(hash); err != nil {
		return remoteError(ctx, "fetch", l, conn.used, fmt.Errorf("the server did not send commit %s", hash))
	}
	return nil
}

// request asks for a commit and lists what the cache has.
func (f *fetch) request(conn *connection, hash plumbing.Hash) *packp.UploadPackRequest {
	request := packp.NewUploadPackRequestFromCapabilities(conn.refs.Capabilities)
	request.Wants = []plumbing.Hash{hash}
	if isAzure(f.repo.remote.location.host) {
		// Azure DevOps requires multi_ack, whose answers go-git does not understand.
		_ = request.Capabilities.Set(capability.MultiACK)
		return request
	}
	request.Haves = f.haves()
	return request
}

func isAzure(host string) bool {
	return host == "dev.azure.com" || host == "ssh.dev.azure.com" || strings.HasSuffix(host, ".visualstudio.com")
}

// receive writes the pack that the server sends. It does not lock the store, so reads continue meanwhile.
func (f *fetch) receive(ctx context.Context, session transport.UploadPackSession, request *packp.UploadPackRequest, measured *meter) error {
	response, err := session.UploadPack(ctx, request)
	if err != nil {
		return err
	}
	defer response.Close()
	pack := io.Reader(contextReader{ctx, response})
	if kind, ok := sidebandOf(request.Capabilities); ok {
		demuxer := sideband.NewDemuxer(kind, pack)
		demuxer.Progress = &progressLines{report: f.repo.client.progress}
		pack = demuxer
	}
	measured.r = pack
	if err := receivePack(ctx, filepath.Join(f.store.common, "objects", "pack"), measured, f.repo.client.Limits); err != nil {
		return err
	}
	f.store.reindex()
	return nil
}

func sidebandOf(list *capability.List) (sideband.Type, bool) {
	switch {
	case list.Supports(capability.Sideband64k):
		return sideband.Sideband64k, true
	case list.Supports(capability.Sideband):
		return sideband.Sideband, true
	}
	return 0, false
}

// contextReader stops reading when the context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// maxHaves is the maximum number of commits to offer to the server for finding common history.
const maxHaves = 256

// haves lists commits in the cache: fetched ones, and their history in case a branch was rewritten.
func (f *fetch) haves() []plumbing.Hash {
	queue := f.store.fetchedHeads()
	seen := map[plumbing.Hash]bool{}
	var haves []plumbing.Hash
	for len(queue) > 0 && len(haves) < maxHaves {
		hash := queue[0]
		queue = queue[1:]
		if seen[hash] {
			continue
		}
		seen[hash] = true
		content, err := f.store.object(hash, plumbing.CommitObject, maxStructure)
		if err != nil {
			continue
		}
		haves = append(haves, hash)
		if c, err := decodeCommit(content); err == nil {
			queue = append(queue, c.ParentHashes...)
		}
	}
	return haves
}

// fetchedHeads returns the commits that were fetched as heads of branches. It skips unreadable references.
func (s *store) fetchedHeads() []plumbing.Hash {
	names, _ := s.references("refs/fetched/")
	var heads []plumbing.Hash
	for _, name := range names {
		if hash, err := s.reference(plumbing.ReferenceName(name)); err == nil {
			heads = append(heads, hash)
		}
	}
	return heads
}

// progressLines passes on a server's progress, line by line. Servers rewrite a line with carriage returns.
type progressLines struct {
	report func(string)
	rest   []byte
}

func (p *progressLines) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexAny(p.rest, "\r\n")
		if i < 0 {
			break
		}
		p.report(secret.Scrub(string(p.rest[:i])))
		p.rest = p.rest[i+1:]
	}
	if len(p.rest) > 4096 {
		p.rest = p.rest[:0]
	}
	return len(b), nil
}
