package carry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
)

// Unpacked is a Git bundle that was unpacked.
type Unpacked interface {
	// References are its branches and tags, sorted by name.
	References() []Reference
	// Descends reports whether a commit of the bundle descends from another commit, or equals it.
	Descends(ctx context.Context, commit, from string) (bool, error)
	Close() error
}

// Inside are the repositories where a bundle is applied. A repository is named by its URL outside.
type Inside interface {
	// Unpack unpacks a Git bundle into a folder that does not exist.
	Unpack(ctx context.Context, dir string, bundle io.Reader) (Unpacked, error)
	// References returns the branches and tags of a repository; none if the repository does not exist yet.
	References(ctx context.Context, repository string) (map[string]string, error)
	// Contains reports whether a commit is in the history of a branch.
	Contains(ctx context.Context, repository, branch, commit string) (bool, error)
	// Receive moves a branch or tag from a commit, or from nowhere, to the one that the bundle has. It creates the repository if needed.
	Receive(ctx context.Context, repository string, from Unpacked, name, old string) error
}

// Records keeps a file on a branch of a repository inside.
type Records interface {
	// Read returns the content; nil if there is none.
	Read(ctx context.Context, repository, branch, file string) ([]byte, error)
	// Write commits the content. It creates the repository if needed.
	Write(ctx context.Context, repository, branch, file, message string, content []byte, when time.Time) error
}

// Blobs are contents by digest.
type Blobs interface {
	// Open returns a content and its size. The caller closes it.
	Open(digest string) (content io.ReadCloser, size int64, err error)
}

// Uploader uploads into the registry inside. What the registry has already is not sent again.
type Uploader interface {
	Upload(ctx context.Context, from Blobs, what Artifact, repository, tag string) error
}

// Applier applies bundles.
type Applier struct {
	Inside   Inside   // required
	Records  Records  // required
	Uploader Uploader // required if the bundle has images or charts
	// Registry is the registry inside, with an optional path: "registry.inside:5000/mirror".
	Registry string
	// Progress is called with what is about to be done; optional.
	Progress func(what string)
}

// Expected is the environment and cluster type of a site.
type Expected struct{ Environment, ClusterType string }

// Applied is what was done.
type Applied struct {
	// Moved are the branches and tags that were moved. Already is true if nothing had to be.
	Moved   []Move `json:"moved"`
	Already bool   `json:"already"`
	// Images and Charts are how many were uploaded or there already.
	Images int `json:"images"`
	Charts int `json:"charts"`
}

// Move is a branch or tag that moves.
type Move struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	// From is empty for a new branch or tag.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// Errors of [Applier.Apply]. Nothing was changed then.
var (
	// ErrOther means that the bundle is for another environment or cluster type.
	ErrOther = errors.New("the bundle is for another site")
	// ErrOlder means that the site has a newer bundle.
	ErrOlder = errors.New("the bundle is older than what was applied here")
	// ErrDiverged means that a repository inside has commits that the bundle does not know.
	ErrDiverged = errors.New("a repository here was changed by something else")
)

const (
	// statePrefix begins the names of the branches that record bundles.
	statePrefix = "kalypso-bundle/"
	stateFile   = manifestName
)

// StateBranch is the branch of the GitOps repository inside that records which bundle was applied last: one commit for each, with the
// signed manifest. It is in the repository that it is about, so a copy or a backup of the one has the other as well.
func StateBranch(environment, clusterType string) string {
	return statePrefix + environment + "/" + clusterType
}

// Apply applies a bundle. It checks everything before it changes anything, and moves the GitOps branch last. It can be repeated: what is
// done already is left out.
func (a *Applier) Apply(ctx context.Context, archive *Archive, site Expected) (*Applied, error) {
	m := archive.Manifest
	if m.Environment != site.Environment || m.ClusterType != site.ClusterType {
		return nil, fmt.Errorf("%w: it is for %s of environment %s, not for %s of %s", ErrOther, m.ClusterType, m.Environment, site.ClusterType, site.Environment)
	}
	uploads, err := a.uploads(m)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kalypso-bundle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	run := &applying{Applier: a, archive: archive, m: m, dir: dir}
	defer run.close()
	if err := run.check(ctx); err != nil {
		return nil, err
	}
	for _, u := range uploads {
		a.progress("uploading %s", u.reference)
		if err := a.Uploader.Upload(ctx, archive, u.artifact, u.repository, u.tag); err != nil {
			return nil, err
		}
	}
	already := len(run.moves) == 0 && run.recorded
	if err := run.move(ctx); err != nil {
		return nil, err
	}
	done := &Applied{Moved: []Move{}, Already: already, Images: len(m.Images), Charts: len(m.Charts)}
	for _, step := range run.moves {
		done.Moved = append(done.Moved, step.Move)
	}
	return done, nil
}

func (a *Applier) progress(format string, args ...any) {
	if a.Progress != nil {
		a.Progress(fmt.Sprintf(format, args...))
	}
}

// upload is an image or chart with its place inside.
type upload struct {
	reference, repository, tag string
	artifact                   Artifact
}

// uploads returns where images and charts go: to the path that they have outside, without the host, as mirrors of registries expect it.
func (a *Applier) uploads(m *Manifest) ([]upload, error) {
	if len(m.Images)+len(m.Charts) > 0 && a.Registry == "" {
		return nil, errors.New("the bundle has images or charts, and no registry was given")
	}
	var all []upload
	taken := map[string]upload{}
	add := func(reference string, what Artifact) error {
		image, err := chart.ParseImage(reference)
		if err != nil {
			return err
		}
		_, path, _ := strings.Cut(image.Repository, "/")
		u := upload{reference, strings.TrimRight(a.Registry, "/") + "/" + path, image.Tag, what}
		if other, ok := taken[u.repository+":"+u.tag]; ok && u.tag != "" && other.artifact != what {
			return fmt.Errorf("%s and %s would both be %s:%s in the registry here", other.reference, reference, u.repository, u.tag)
		}
		taken[u.repository+":"+u.tag] = u
		all = append(all, u)
		return nil
	}
	for _, image := range m.Images {
		if err := add(image.Reference, image.Artifact); err != nil {
			return nil, err
		}
	}
	for _, c := range m.Charts {
		if err := add(c.reference(), c.Artifact); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// applying is one run.
type applying struct {
	*Applier
	archive  *Archive
	m        *Manifest
	dir      string
	unpacked []Unpacked // of each repository
	// moves are what has to move, the GitOps branch last.
	moves []step
	// recorded means that the bundle is the one that was recorded last.
	recorded bool
}

type step struct {
	Move
	from Unpacked
}

func (r *applying) close() {
	for _, u := range r.unpacked {
		_ = u.Close() // a temporary folder
	}
}

// check decides what moves, without changing anything.
func (r *applying) check(ctx context.Context) error {
	if err := r.checkRecord(ctx); err != nil {
		return err
	}
	var last []step
	for i, repository := range r.m.Repositories {
		r.progress("checking %s", repository.URL)
		u, err := r.unpack(ctx, i)
		if err != nil {
			return err
		}
		now, err := r.Inside.References(ctx, repository.URL)
		if err != nil {
			return err
		}
		for _, ref := range repository.References {
			move := Move{repository.URL, ref.Name, now[ref.Name], ref.Commit}
			if move.From == move.To {
				continue
			}
			if err := r.checkMove(ctx, u, move); err != nil {
				return err
			}
			if repository.URL == r.m.GitOps.Repository && ref == r.m.GitOps.reference() {
				last = append(last, step{move, u})
			} else {
				r.moves = append(r.moves, step{move, u})
			}
		}
	}
	r.moves = append(r.moves, last...)
	return nil
}

func (r *applying) unpack(ctx context.Context, i int) (Unpacked, error) {
	repository := r.m.Repositories[i]
	content, _, err := r.archive.file(repository.File)
	if err != nil {
		return nil, err
	}
	u, err := r.Inside.Unpack(ctx, filepath.Join(r.dir, fmt.Sprint(i)), content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", repository.File, err)
	}
	r.unpacked = append(r.unpacked, u)
	if !slices.Equal(u.References(), repository.References) {
		return nil, invalid("%s does not have the commits that the manifest names", repository.File)
	}
	return u, nil
}

// checkMove reports why a branch or tag must not move.
func (r *applying) checkMove(ctx context.Context, u Unpacked, move Move) error {
	if move.From == "" {
		return nil
	}
	if strings.HasPrefix(move.Name, "refs/tags/") {
		return fmt.Errorf("%w: %s of %s is at %.7s, and at %.7s in the bundle; tags do not move", ErrDiverged, move.Name, move.Repository, move.From, move.To)
	}
	forward, err := u.Descends(ctx, move.To, move.From)
	if forward || err != nil {
		return err
	}
	branch := strings.TrimPrefix(move.Name, "refs/heads/")
	older, err := r.Inside.Contains(ctx, move.Repository, branch, move.To)
	if err != nil {
		return err
	}
	if older {
		return fmt.Errorf("%w: branch %s of %s has %.7s already, and is at %.7s", ErrOlder, branch, move.Repository, move.To, move.From)
	}
	return fmt.Errorf("%w: branch %s of %s is at %.7s, which the history of %.7s does not have", ErrDiverged, branch, move.Repository, move.From, move.To)
}

// checkRecord compares the bundle with the one that was applied last.
func (r *applying) checkRecord(ctx context.Context) error {
	text, err := r.Records.Read(ctx, r.m.GitOps.Repository, StateBranch(r.m.Environment, r.m.ClusterType), stateFile)
	if err != nil || text == nil {
		return err
	}
	before, err := readRecord(text)
	if err != nil {
		return fmt.Errorf("read branch %s of %s: %w", StateBranch(r.m.Environment, r.m.ClusterType), r.m.GitOps.Repository, err)
	}
	now, err := readRecord(r.archive.envelope)
	if err != nil {
		return err
	}
	switch {
	case before.Made.After(now.Made):
		return fmt.Errorf("%w: it was made at %s, the last one that was applied at %s", ErrOlder, now.Made.Format(time.RFC3339), before.Made.Format(time.RFC3339))
	case before.Made.Equal(now.Made) && before.sum != now.sum:
		return fmt.Errorf("%w: another one that was made at the same time, %s, was applied", ErrOlder, now.Made.Format(time.RFC3339))
	}
	r.recorded = before.sum == now.sum
	return nil
}

// record is what a bundle is recognized by.
type record struct {
	Made time.Time `json:"made"`
	sum  string
}

// readRecord reads an envelope that was verified when its bundle was applied.
func readRecord(envelope []byte) (record, error) {
	var signed hub.SignedReports
	if err := json.Unmarshal(envelope, &signed); err != nil {
		return record{}, err
	}
	r := record{sum: sumOf(signed.Payload)}
	return r, json.Unmarshal(signed.Payload, &r)
}

// move moves branches and tags. The bundle is recorded before the GitOps branch moves, so that an older one cannot be applied in between;
// in a new repository after it, because forges make the first branch the default one.
func (r *applying) move(ctx context.Context) error {
	for i, s := range r.moves {
		gitOps := s.Repository == r.m.GitOps.Repository && s.Name == r.m.GitOps.reference().Name
		if i == len(r.moves)-1 && gitOps && s.From != "" {
			if err := r.record(ctx); err != nil {
				return err
			}
		}
		r.progress("moving %s of %s", s.Name, s.Repository)
		if err := r.Inside.Receive(ctx, s.Repository, s.from, s.Name, s.From); err != nil {
			return err
		}
	}
	return r.record(ctx)
}

// record writes the manifest to the branch of the record, once.
func (r *applying) record(ctx context.Context) error {
	if r.recorded {
		return nil
	}
	r.progress("recording the bundle")
	message := fmt.Sprintf("Apply the bundle of %s for %s\n\nMade %s.", r.m.GitOps.Commit[:7], r.m.ClusterType, r.m.Made.Format(time.RFC3339))
	err := r.Records.Write(ctx, r.m.GitOps.Repository, StateBranch(r.m.Environment, r.m.ClusterType), stateFile, message, r.archive.envelope, r.m.Made)
	if err == nil {
		r.recorded = true
	}
	return err
}
