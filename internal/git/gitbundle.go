package git

import (
	"bufio"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1" // packs end with a SHA-1.
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Reference is a branch or a tag, and the commit that it names.
type Reference struct {
	// Name is the full name: refs/heads/main, refs/tags/v1.
	Name   string
	Commit string
}

// BranchReference and TagReference return the full name of a branch or tag.
func BranchReference(branch string) string { return "refs/heads/" + branch }

// TagReference returns the full name of a tag.
func TagReference(tag string) string { return "refs/tags/" + tag }

// bundleSignature is the first line of a Git bundle without extensions; see
// https://git-scm.com/docs/gitformat-bundle.
const bundleSignature = "# v2 git bundle\n"

// Bundle writes references with their whole history as a Git bundle, which "git clone" and "git fetch" can read, too.
// Their commits must have been resolved by this repository. Equal references write equal bytes. Shallow and partial clones are
// refused, because the bundle would not be complete.
func (r *Repository) Bundle(ctx context.Context, references []Reference, w io.Writer) error {
	const op = "bundle"
	if r.store() == nil {
		return &Error{Kind: ErrInvalid, Op: op, Where: r.Name, Detail: "a plain folder has no commits", Hint: "name a Git repository"}
	}
	if r.store().shallow() || r.store().partial() {
		return &Error{
			Kind: ErrInvalid, Op: op, Where: r.Name, Detail: "it is a shallow or partial clone, so the bundle would not be complete",
			Hint: `run "git fetch --unshallow" in it, or use a full clone`,
		}
	}
	references = slices.Clone(references)
	slices.SortFunc(references, func(a, b Reference) int { return cmp.Compare(a.Name, b.Name) })
	list := packList{store: r.store(), known: map[plumbing.Hash]bool{}}
	var header strings.Builder
	header.WriteString(bundleSignature)
	for _, ref := range references {
		hash, ok := parseHash(ref.Commit)
		if !ok || !validReference(ref.Name) {
			return &Error{Kind: ErrInvalid, Op: op, Where: r.Name, Detail: fmt.Sprintf("%q at %q is not a reference", secret.Line(ref.Name), secret.Line(ref.Commit))}
		}
		if err := list.history(ctx, hash); err != nil {
			return r.readError(ctx, "read the history of "+ref.Name+" of", err)
		}
		fmt.Fprintf(&header, "%s %s\n", ref.Commit, ref.Name)
	}
	header.WriteString("\n")
	if _, err := io.WriteString(w, header.String()); err != nil {
		return err
	}
	return list.write(ctx, w)
}

// validReference reports whether a name is that of a branch or tag that every system can store: Git keeps references as files.
func validReference(name string) bool {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if short, ok := strings.CutPrefix(name, prefix); ok {
			return checkBranch(short, false) == nil && unsafePath(name) == ""
		}
	}
	return false
}

// packList lists the objects of a pack, in an order that depends on nothing but the commits.
type packList struct {
	store   *store
	known   map[plumbing.Hash]bool
	objects []packEntry
}

type packEntry struct {
	hash plumbing.Hash
	kind plumbing.ObjectType
}

func (l *packList) add(hash plumbing.Hash, kind plumbing.ObjectType) bool {
	if l.known[hash] {
		return false
	}
	l.known[hash] = true
	l.objects = append(l.objects, packEntry{hash, kind})
	return true
}

// history adds a commit and everything that it needs.
func (l *packList) history(ctx context.Context, hash plumbing.Hash) error {
	for queue := []plumbing.Hash{hash}; len(queue) > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !l.add(queue[0], plumbing.CommitObject) {
			continue
		}
		content, err := l.store.object(queue[0], plumbing.CommitObject, maxStructure)
		if err != nil {
			return err
		}
		c, err := decodeCommit(content)
		if err != nil {
			return err
		}
		if err := l.tree(c.TreeHash, 0); err != nil {
			return err
		}
		queue = append(queue, c.ParentHashes...)
	}
	return nil
}

func (l *packList) tree(hash plumbing.Hash, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: its folders are nested too deeply", errDamaged)
	}
	if !l.add(hash, plumbing.TreeObject) {
		return nil
	}
	entries, err := l.store.tree(hash)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.mode {
		case Submodule:
		case Subfolder:
			if err := l.tree(e.hash, depth+1); err != nil {
				return err
			}
		default:
			l.add(e.hash, plumbing.BlobObject)
		}
	}
	return nil
}

// write writes the pack, one object at a time.
func (l *packList) write(ctx context.Context, w io.Writer) error {
	sum := sha1.New()
	out := io.MultiWriter(w, sum)
	if _, err := io.WriteString(out, "PACK\x00\x00\x00\x02"); err != nil {
		return err
	}
	if err := binary.Write(out, binary.BigEndian, uint32(len(l.objects))); err != nil {
		return err
	}
	compressor := zlib.NewWriter(out)
	for _, o := range l.objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		var content []byte
		var err error
		if o.hash != emptyTree { // it can be read without being stored
			content, err = l.store.object(o.hash, o.kind, 1<<31)
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(objectHeader(o.kind, len(content))); err != nil {
			return err
		}
		compressor.Reset(out)
		_, err = compressor.Write(content)
		if err = errors.Join(err, compressor.Close()); err != nil {
			return err
		}
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// Bundled is a Git bundle, unpacked into a repository of its own.
type Bundled struct {
	*Repository
	// References are those of the bundle, sorted by name.
	References []Reference
	pack       string
}

// The limits of a bundle's header. A bundle comes from elsewhere.
const (
	maxBundleReferences = 1000
	maxBundleLine       = 1024
)

// Unbundle unpacks a Git bundle into a folder that does not exist. Bundles that need commits of another repository are refused,
// and so are names that are neither branches nor tags. The error is ErrInvalid for content that is not such a bundle.
func (c *Client) Unbundle(ctx context.Context, dir string, bundle io.Reader) (*Bundled, error) {
	in := bufio.NewReader(bundle)
	references, err := readBundleHeader(in)
	if err != nil {
		return nil, &Error{Kind: ErrInvalid, Op: "read the Git bundle", Detail: err.Error(), Hint: "it is damaged, or was not written by this program"}
	}
	if err := initBare(dir, ""); err != nil {
		return nil, storageError("create", dir, err)
	}
	err = receivePack(ctx, filepath.Join(dir, "objects", "pack"), &limitedPack{r: in, rest: c.Limits.orDefaults().Pack}, c.Limits)
	if err != nil {
		if end := ended(ctx, err); end != nil {
			return nil, end
		}
		return nil, &Error{Kind: ErrInvalid, Op: "read the Git bundle", Detail: secret.Scrub(err.Error()), Hint: "it is damaged, or was not written by this program"}
	}
	opened, err := c.openLocal(dir, "")
	if err != nil {
		return nil, err
	}
	packs, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if len(packs) != 1 {
		return nil, errors.Join(opened.close(), &Error{Kind: ErrInvalid, Op: "read the Git bundle", Detail: "it has no objects"})
	}
	b := &Bundled{Repository: opened, References: references, pack: packs[0]}
	if err := b.complete(ctx); err != nil {
		return nil, errors.Join(opened.close(), err)
	}
	return b, nil
}

// Close releases the files of the repository, which can be deleted then.
func (b *Bundled) Close() error { return b.close() }

// complete checks that the repository has everything that the references need, and stores them.
func (b *Bundled) complete(ctx context.Context) error {
	list := packList{store: b.store(), known: map[plumbing.Hash]bool{}}
	for _, ref := range b.References {
		hash, _ := parseHash(ref.Commit)
		if err := list.history(ctx, hash); err != nil {
			return b.incomplete(ctx, err)
		}
	}
	for _, o := range list.objects {
		if o.kind == plumbing.BlobObject && !b.store().has(o.hash) {
			return b.incomplete(ctx, plumbing.ErrObjectNotFound)
		}
	}
	for _, ref := range b.References {
		hash, _ := parseHash(ref.Commit)
		if err := b.store().own.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(ref.Name), hash)); err != nil {
			return storageError("write", b.Name, err)
		}
	}
	return nil
}

func (b *Bundled) incomplete(ctx context.Context, err error) error {
	if end := ended(ctx, err); end != nil {
		return end
	}
	return &Error{Kind: ErrInvalid, Op: "read the Git bundle", Detail: "it is not complete: " + secret.Scrub(err.Error())}
}

// readBundleHeader reads a header up to the pack.
func readBundleHeader(in *bufio.Reader) ([]Reference, error) {
	line, err := bundleLine(in)
	if err != nil || line+"\n" != bundleSignature {
		return nil, errors.New("it does not begin like a Git bundle of version 2")
	}
	var references []Reference
	for {
		line, err := bundleLine(in)
		switch {
		case err != nil:
			return nil, err
		case line == "" && len(references) == 0:
			return nil, errors.New("it has no references")
		case line == "":
			return references, nil
		case line[0] == '-':
			return nil, errors.New("it needs commits that it does not have")
		case len(references) == maxBundleReferences:
			return nil, fmt.Errorf("it has more than %d references", maxBundleReferences)
		}
		id, name, _ := strings.Cut(line, " ")
		hash, ok := parseHash(id)
		if !ok || !validReference(name) {
			return nil, fmt.Errorf("%q is not a commit of a branch or tag", secret.Line(line))
		}
		if last := len(references) - 1; last >= 0 && references[last].Name >= name {
			return nil, errors.New("its references are not sorted, or one is there twice")
		}
		references = append(references, Reference{name, hash.String()})
	}
}

func bundleLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if err != nil || len(line) > maxBundleLine {
		return "", errors.New("its header is not complete, or too long")
	}
	return string(line[:len(line)-1]), nil
}

// limitedPack fails if a pack is too large.
type limitedPack struct {
	r    io.Reader
	rest int64
}

// Read implements [io.Reader].
func (l *limitedPack) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.rest -= int64(n); l.rest < 0 {
		return 0, errors.New("its pack is too large")
	}
	return n, err
}

// References returns all branches and tags, by their full names; tags by the commits that they lead to. It contacts a remote, but
// fetches nothing. An empty repository has none.
func (r *Repository) References(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	if r.remote != nil {
		conn, err := r.client.connect(ctx, r.remote.location, fetching)
		if errors.Is(err, ErrEmpty) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		for name, hash := range conn.refs.References {
			if validReference(name) {
				found[name] = hash.String()
			}
		}
		for name, hash := range conn.refs.Peeled {
			if validReference(name) {
				found[name] = hash.String()
			}
		}
		return found, nil
	}
	if r.store() == nil {
		return nil, r.noHistory()
	}
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		names, err := r.store().references(prefix)
		if err != nil {
			return nil, r.corrupt("list references of", err)
		}
		for _, name := range names {
			hash, err := r.store().reference(plumbing.ReferenceName(name))
			if err != nil {
				return nil, r.corrupt("read "+name+" of", err)
			}
			if peeled, err := r.readCommit(ctx, hash); err == nil {
				found[name] = peeled.Hash
			}
		}
	}
	return found, nil
}

// Receive moves a branch or tag to the commit that it has in a bundle, if it is at the commit old, or nowhere if old is empty;
// otherwise the error is ErrMoved. It copies the bundle's objects, so the commit keeps its hash.
func (r *Repository) Receive(ctx context.Context, b *Bundled, name, old string) error {
	at := slices.IndexFunc(b.References, func(ref Reference) bool { return ref.Name == name })
	from, okOld := parseHash(old)
	if at < 0 || r.folder != "" || !okOld && old != "" {
		return &Error{Kind: ErrInvalid, Op: fmt.Sprintf("move %q of", secret.Line(name)), Where: r.Name, Detail: "it needs a commit of the bundle, and a Git repository"}
	}
	to, _ := parseHash(b.References[at].Commit)
	if r.remote != nil {
		return r.receiveRemote(ctx, b, name, from, to)
	}
	if _, err := r.store().size(to); errors.Is(err, plumbing.ErrObjectNotFound) {
		if err := r.copyPack(ctx, b.pack); err != nil {
			return err
		}
	}
	if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
		return r.moveLocal(branch, from, to)
	}
	return r.moveReference("move "+name+" of", plumbing.ReferenceName(name), from, to)
}

// copyPack adds the objects of a pack to a local repository.
func (r *Repository) copyPack(ctx context.Context, pack string) error {
	f, err := os.Open(pack)
	if err != nil {
		return storageError("read", pack, err)
	}
	defer f.Close()
	err = receivePack(ctx, filepath.Join(r.store().common, "objects", "pack"), f, r.client.Limits)
	if err != nil {
		if end := ended(ctx, err); end != nil {
			return end
		}
		return storageError("write objects to", r.Name, err)
	}
	r.store().reindex()
	return nil
}

func (r *Repository) receiveRemote(ctx context.Context, b *Bundled, name string, from, to plumbing.Hash) error {
	command := &packp.Command{Name: plumbing.ReferenceName(name), Old: from, New: to}
	return r.moveRemote(ctx, command.Name, from, to, func(conn *connection) error {
		pack, err := os.Open(b.pack)
		if err != nil {
			return storageError("read", b.pack, err)
		}
		defer pack.Close()
		return r.send(ctx, conn, command, pack)
	})
}

// plainHead matches branch names that can stand in a HEAD file.
var plainHead = regexp.MustCompile(`^[^\x00-\x20\x7f]+$`)

// CreateBare creates an empty bare repository in a folder that does not exist, with a default branch.
func CreateBare(dir, branch string) error {
	if err := checkBranch(branch, true); err != nil || branch != "" && !plainHead.MatchString(branch) {
		return cmp.Or(err, error(&Error{Kind: ErrInvalid, Op: "create repository", Where: dir, Detail: "its branch has no usable name"}))
	}
	if exists, err := checkFree(dir); exists || err != nil {
		return cmp.Or(err, error(&Error{Kind: ErrInvalid, Op: "create repository", Where: dir, Detail: "the folder exists already"}))
	}
	// It is complete when it appears: a program that is killed leaves nothing that looks like a repository.
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return storageError("create repository", dir, err)
	}
	building, err := os.MkdirTemp(parent, ".kalypso-new-")
	if err != nil {
		return storageError("create repository", dir, err)
	}
	defer os.RemoveAll(building)
	if err = initBare(filepath.Join(building, "git"), branch); err == nil {
		err = os.Rename(filepath.Join(building, "git"), dir)
	}
	if err != nil {
		return storageError("create repository", dir, err)
	}
	return nil
}

// initBare initializes a bare repository. The branch is the default one; empty means main.
func initBare(dir, branch string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s := openStorage(dir, dir)
	if err := errors.Join(s.Init(), s.Close()); err != nil {
		return err
	}
	files := map[string]string{
		"HEAD":   "ref: refs/heads/" + cmp.Or(branch, "main") + "\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Rewrite returns a URL with the longest matching mapping applied, and whether one applies. Unlike [Client.Locate], it ignores
// git's own configuration.
func Rewrite(mappings []Mapping, url string) (string, bool) {
	l, err := parseLocation(url)
	if err != nil {
		return url, false
	}
	return applyMappings(mappings, l)
}
