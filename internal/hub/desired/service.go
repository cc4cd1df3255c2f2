package desired

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// PlatformNamespace is the namespace in the names of the platform's deliveries.
const PlatformNamespace = "kalypso-agent"

// Commit is a commit of a repository, with its files.
type Commit struct {
	Hash string
	// Files returns the files at or below a folder that are YAML, with paths relative to the folder, and without those whose path has an
	// element that begins with a dot. Folders that do not exist have no files.
	Files func(ctx context.Context, folder string) ([]artifact.File, error)
}

// Repositories reads the repositories that merged documents name.
type Repositories interface {
	// Resolve returns the commit of a source. from is the repository of the document that names it, or empty.
	Resolve(ctx context.Context, from string, source hub.DirectSource) (Commit, error)
}

// Clusters has the registered clusters.
type Clusters interface {
	Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error)
}

// Numbers gives out numbers that grow on all servers: see [ledger.Replicas].
type Numbers interface {
	NextNumber(ctx context.Context, name string, least int64) (int64, error)
}

// Follows returns what a cluster follows as a member of an environment.
type Follows func(cluster string, m ledger.Membership) (Following, error)

// Following is the folder that a cluster follows.
type Following struct {
	hub.Source
	// Direct is false if a reconciler on the cluster follows it.
	Direct bool
	// Windows and Hold say when the cluster may be changed. Default: at any time.
	Windows []scheduler.Window
	Hold    *scheduler.Hold
}

// Service answers what clusters should run. It is safe for concurrent use, and must not be copied.
type Service struct {
	Clusters     Clusters           // required
	Numbers      Numbers            // required
	Follows      Follows            // required
	Repositories Repositories       // required
	Key          ed25519.PrivateKey // required
	// Fresh is how long the head of a branch is used before it is read again. Default: ten seconds.
	Fresh time.Duration
	Now   func() time.Time // required

	// archives replaces maxArchives in tests.
	archives int

	roster roster

	mu       sync.Mutex
	heads    map[headKey]*head
	folders  map[folderKey]*folder
	size     int
	reads    int64 // how many reads of branches were begun
	building sync.Mutex
}

// ErrUnknownDigest means that no delivery of the cluster has a digest.
var ErrUnknownDigest = errors.New("no delivery of this cluster has the digest")

type (
	headKey struct {
		from   string
		source hub.DirectSource
	}
	folderKey struct{ repository, commit, path string }
)

// head is the commit of a source at a time.
type head struct {
	mu     sync.Mutex
	at     time.Time
	commit Commit
	err    error
	// began is the number of the read that the commit is from.
	began int64
	// reading is closed when the commit was read; nil if it is not being read.
	reading chan struct{}
}

// folder is what was packed.
type folder struct {
	archive   []byte // nil if the err is set, or it was dropped to save memory
	digest    string
	size      int64
	empty     bool // it has no files
	documents []hub.DirectDelivery
	err       error
	used      time.Time
}

const (
	freshDefault = 10 * time.Second
	// maxArchives bounds the archives in memory, in bytes, and maxFolders their number. What is missing is packed again.
	maxArchives, maxFolders = 64 << 20, 10_000
	maxHeads                = 10_000
	// patience is how long an answer waits for all its repositories together. One that takes longer is read all the same, for a later answer.
	patience = 20 * time.Second
)

// Of returns what a cluster should run, and a tag that changes with it. Branches are as they were not long ago.
func (s *Service) Of(ctx context.Context, cluster string) ([]hub.Delivery, string, error) {
	return s.of(ctx, cluster, 0)
}

// Answer returns the signed answer to a cluster, and its tag. All branches are read after the answer got its number. So of two answers, by whatever
// servers, the one with the larger number never has an older commit, unless the repository takes longer than the answer waits for it.
func (s *Service) Answer(ctx context.Context, cluster string) (sealed []byte, tag string, err error) {
	number, err := s.Numbers.NextNumber(ctx, "deliveries", s.Now().UnixMicro())
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	before := s.reads
	s.mu.Unlock()
	all, tag, err := s.of(ctx, cluster, before+1)
	if err != nil {
		return nil, "", err
	}
	sealed, err = s.seal(cluster, number, all)
	return sealed, tag, err
}

// of returns what a cluster should run, from reads of branches that began with the number from or later, and from its registration now; or as both were not long
// ago if from is 0.
func (s *Service) of(ctx context.Context, cluster string, from int64) ([]hub.Delivery, string, error) {
	registration := s.roster.cluster
	if from > 0 {
		registration = readCluster
	}
	found, err := registration(ctx, s.Clusters, cluster, s.Now())
	if err != nil {
		return nil, "", fmt.Errorf("read the registration of the cluster: %w", err)
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asked := asked{until: patient.Done(), from: from}
	var platform, all []hub.Delivery
	if found.Registered && !found.Registration.Revoked {
		for _, m := range found.Registration.Memberships {
			p, below := s.membership(ctx, asked, cluster, m, found.Registration.Memberships)
			platform, all = append(platform, p...), append(all, below...)
		}
	}
	all = only(append(platform, all...))
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(append([]byte(cluster+"\n"), text...))
	return all, hex.EncodeToString(sum[:12]), nil
}

// Renew tells that registrations of clusters may have changed. It does not block.
func (s *Service) Renew() { s.roster.renew() }

// only marks deliveries that are there twice, and cuts the list at its limit.
func only(all []hub.Delivery) []hub.Delivery {
	at := map[string]int{}
	kept := []hub.Delivery{}
	for _, d := range all {
		if first, twice := at[d.ID()]; twice {
			kept[first].Error, kept[first].Digest, kept[first].Size = "it is declared twice", "", 0
			continue
		}
		if len(kept) == hub.MaxDeliveries {
			// What is cut off is still declared: without an error of its folder, the agent would remove it.
			if of, ok := at[PlatformNamespace+"/"+d.Of]; ok {
				kept[of].Error, kept[of].Digest, kept[of].Size = fmt.Sprintf("the cluster has more than %d deliveries", hub.MaxDeliveries), "", 0
			}
			continue
		}
		at[d.ID()] = len(kept)
		kept = append(kept, d)
	}
	return kept
}

// membership returns the delivery of the platform, and those of the documents in its folder.
func (s *Service) membership(ctx context.Context, asked asked, cluster string, m ledger.Membership, all []ledger.Membership) (platform, below []hub.Delivery) {
	d := hub.Delivery{Namespace: PlatformNamespace, Name: "platform-" + m.Environment}
	for _, other := range all {
		if other.Environment == m.Environment && other.ClusterType != m.ClusterType {
			d.Name += "-" + m.ClusterType
			break
		}
	}
	source, err := s.Follows(cluster, m)
	if err != nil {
		d.Error = message(err)
		return []hub.Delivery{d}, nil
	}
	if !source.Direct {
		return nil, nil
	}
	d.Windows, d.Hold = source.Windows, source.Hold
	d.Spec.Source = hub.DirectSource{Repository: source.Repository, Branch: source.Ref, Path: source.Path}
	f := s.fill(ctx, asked, "", &d)
	if f == nil {
		return []hub.Delivery{d}, nil
	}
	for _, document := range f.documents {
		one := hub.Delivery{Namespace: document.Namespace, Name: document.Name, Of: d.Name, Spec: document.Spec}
		s.fill(ctx, asked, source.Repository, &one)
		if err := one.Check(); err != nil { // the names of objects, which the folder decides
			d.Error, d.Digest, d.Size = message(fmt.Errorf("the document %s: %w", one.ID(), err)), "", 0
			return []hub.Delivery{d}, nil
		}
		below = append(below, one)
	}
	return []hub.Delivery{d}, below
}

// fill adds commit, digest and size to a delivery, or its error. It returns nil with an error.
func (s *Service) fill(ctx context.Context, asked asked, from string, d *hub.Delivery) *folder {
	commit, err := s.head(ctx, asked, from, d.Spec.Source)
	if err != nil {
		d.Error = message(err)
		return nil
	}
	d.Commit = commit.Hash
	f := s.folder(ctx, commit, d.Spec.Source, false)
	if f.err != nil {
		d.Error = message(f.err)
		return nil
	}
	if f.empty && !d.Platform() { // it would be applied, and healthy, at once
		d.Error = message(fmt.Errorf("the folder %q has no YAML files at %.7s: check the path and the branch of the target", d.Spec.Source.Folder(), d.Commit))
		return nil
	}
	d.Digest, d.Size = f.digest, f.size
	return f
}

// asked is what is wanted of the heads of branches.
type asked struct {
	// until ends the wait; nil waits as long as the context.
	until <-chan struct{}
	// from is the number of the first read that is new enough; 0 means that one of not long ago is.
	from int64
}

// head returns the commit of a source. The repository is read in the background, so that one that is slow neither stops the
// deliveries of others, nor has to be read again from the start for each request: after until, the commit before counts.
func (s *Service) head(ctx context.Context, asked asked, from string, source hub.DirectSource) (Commit, error) {
	source.Path = ""
	key := headKey{from, source}
	s.mu.Lock()
	h := s.heads[key]
	if h == nil {
		if s.heads == nil || len(s.heads) >= maxHeads {
			s.heads = map[headKey]*head{}
		}
		h = &head{}
		s.heads[key] = h
	}
	s.mu.Unlock()
	for waiting := true; waiting; {
		reading := s.refresh(ctx, h, asked.from, key)
		if reading == nil {
			break
		}
		select {
		case <-reading:
			waiting = asked.from > 0 // the one that was being read may have begun too early
		case <-asked.until:
			waiting = false
		case <-ctx.Done():
			return Commit{}, ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.IsZero() {
		return Commit{}, errors.New("its repository is still being read")
	}
	return h.commit, h.err
}

// refresh begins to read a head, unless what is known is new enough, or it is being read. The channel is closed after the read; nil if there is none.
func (s *Service) refresh(ctx context.Context, h *head, from int64, key headKey) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := s.Now()
	old := h.at.IsZero() || now.Sub(h.at) >= cmp.Or(s.Fresh, freshDefault) || now.Before(h.at)
	if from > 0 {
		old = h.began < from
	}
	if h.reading == nil && old {
		s.mu.Lock()
		s.reads++
		began := s.reads
		s.mu.Unlock()
		h.reading = make(chan struct{})
		go s.read(context.WithoutCancel(ctx), h, began, h.reading, key)
	}
	if !old {
		return nil
	}
	return h.reading
}

// read reads the commit of a source. The limits of package git bound it.
func (s *Service) read(ctx context.Context, h *head, began int64, done chan struct{}, key headKey) {
	commit, err := s.Repositories.Resolve(ctx, key.from, key.source)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.commit, h.err, h.began, h.reading = s.Now(), commit, err, began, nil
	close(done)
}

// folder returns the digest and the documents of a folder, and if it is packed, its archive.
func (s *Service) folder(ctx context.Context, commit Commit, source hub.DirectSource, packed bool) *folder {
	key := folderKey{source.Repository, commit.Hash, source.Folder()}
	if f := s.known(key, packed); f != nil {
		return f
	}
	s.building.Lock() // one at a time, which bounds the memory
	defer s.building.Unlock()
	if f := s.known(key, packed); f != nil {
		return f
	}
	f := &folder{}
	files, err := commit.Files(ctx, key.path)
	if err == nil {
		err = bounded(files)
	}
	if err == nil {
		files, err = selected(files)
	}
	if err == nil {
		f.documents, err = documents(files)
	}
	if err == nil {
		f.archive, f.digest, err = artifact.Pack(files)
	}
	f.size, f.empty, f.err = int64(len(f.archive)), len(files) == 0, err
	if ctx.Err() == nil {
		s.keep(key, f)
	}
	return f
}

// errorsFor is how long the error of a folder is used: it may be that of a connection.
const errorsFor = time.Minute

func (s *Service) known(key folderKey, packed bool) *folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.folders[key]
	now := s.Now()
	if f == nil || f.err != nil && now.Sub(f.used) >= errorsFor {
		return nil
	}
	if f.err == nil {
		f.used = now
		if packed && f.archive == nil {
			return nil
		}
	}
	return f
}

func (s *Service) keep(key folderKey, f *folder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders == nil {
		s.folders = map[folderKey]*folder{}
	}
	if old := s.folders[key]; old != nil {
		s.size -= len(old.archive)
	}
	f.used = s.Now()
	s.folders[key] = f
	s.size += len(f.archive)
	tooMany := len(s.folders) > maxFolders
	if s.size <= cmp.Or(s.archives, maxArchives) && !tooMany {
		return
	}
	// The half that was not used for longest goes, so that this is seldom. To save memory, only the archives go: an agent needs one once, but each
	// answer has the digests.
	keys := make([]folderKey, 0, len(s.folders))
	for k, old := range s.folders {
		if tooMany || old.archive != nil {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b folderKey) int { return s.folders[a].used.Compare(s.folders[b].used) })
	for _, k := range keys[:(len(keys)+1)/2] {
		if k == key {
			continue
		}
		old := s.folders[k]
		s.size -= len(old.archive)
		if tooMany {
			delete(s.folders, k)
			continue
		}
		without := *old // the archive may be in use by an answer now
		without.archive = nil
		s.folders[k] = &without
	}
}

// Archive returns the archive with a digest, if a delivery of the cluster has it now. Otherwise the error is [ErrUnknownDigest].
func (s *Service) Archive(ctx context.Context, cluster, digest string) ([]byte, error) {
	all, _, err := s.Of(ctx, cluster)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.Digest != digest || digest == "" {
			continue
		}
		from := ""
		if i := slices.IndexFunc(all, func(p hub.Delivery) bool { return p.Platform() && p.Name == d.Of }); i >= 0 {
			from = all[i].Spec.Source.Repository
		}
		commit, err := s.head(ctx, asked{}, from, d.Spec.Source)
		if err != nil {
			return nil, err
		}
		if f := s.folder(ctx, commit, d.Spec.Source, true); f.digest == digest {
			return f.archive, nil
		}
	}
	return nil, ErrUnknownDigest
}

// seal signs an answer.
func (s *Service) seal(cluster string, number int64, all []hub.Delivery) ([]byte, error) {
	payload, err := json.Marshal(hub.Deliveries{
		APIVersion: hub.GroupVersion.String(), Kind: hub.KindDeliveries, Cluster: cluster, Number: number, Deliveries: all,
	})
	if err != nil {
		return nil, err
	}
	return hub.Seal(hub.DeliveriesPayloadType, payload, s.Key)
}

// message returns the text of an error for an agent: one line of limited length, without credentials.
func message(err error) string {
	text := strings.Join(strings.Fields(secret.Scrub(err.Error())), " ")
	text = strings.ToValidUTF8(strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return -1
		}
		return c
	}, text), "?")
	if len(text) > hub.MaxMessage {
		text = strings.ToValidUTF8(text[:hub.MaxMessage], "")
	}
	return text
}
