package direct

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

// Store keeps on disk what the server said, the archives, and what was applied:
//
//	desired.json          the last answer, as the server signed it
//	archives/<digest>     complete archives, and <digest>.part of those that are being downloaded
//	deliveries/<hash>     the state and inventory of each delivery, by the hash of its ID
type Store struct {
	Dir     string            // required
	Cluster string            // required
	Key     ed25519.PublicKey // required

	mu   sync.Mutex
	last *hub.Deliveries // what desired.json has, if it was read

	// before is called before every change of a file, and its error prevents it: tests stop there.
	before func(what string) error
}

// open creates the folders.
func (s *Store) open() error {
	s.mu.Lock()
	s.last = nil
	s.mu.Unlock()
	for _, name := range []string{"archives", "deliveries"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, name), 0o700); err != nil {
			return fmt.Errorf("create the folder of deliveries: %w", err)
		}
	}
	return nil
}

func (s *Store) change(what string, do func() error) error {
	if s.before != nil {
		if err := s.before(what); err != nil {
			return err
		}
	}
	return do()
}

func (s *Store) desiredFile() string { return filepath.Join(s.Dir, "desired.json") }

// Desired returns the last answer of the server, which must not be changed; nil if there is none.
func (s *Store) Desired() (*hub.Deliveries, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		return s.last, nil
	}
	envelope, err := os.ReadFile(s.desiredFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the server said: %w", err)
	}
	d, err := s.verify(envelope)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotVerified, err)
	}
	s.last = d
	return d, nil
}

// errNotVerified means that what is on disk cannot be used.
var errNotVerified = errors.New("what the server said last cannot be used any more")

// verify returns the content of an answer that is signed by the server, for this cluster.
func (s *Store) verify(envelope []byte) (*hub.Deliveries, error) {
	payload, _, err := hub.Unseal(envelope, hub.DeliveriesPayloadType, s.Key)
	if errors.Is(err, hub.ErrUnknownKey) {
		return nil, fmt.Errorf("refused: it is not signed with the key of the server (%.12s…)", hub.KeyID(s.Key))
	}
	if err != nil {
		return nil, err
	}
	var d hub.Deliveries
	if err := json.Unmarshal(payload, &d); err != nil {
		return nil, fmt.Errorf("read the deliveries: %w", err)
	}
	if err := d.Check(s.Cluster); err != nil {
		return nil, fmt.Errorf("refused: %w", err)
	}
	return &d, nil
}

// Accept verifies an answer of the server and stores it. One that is not later than the last is refused. A last one that is damaged, or signed
// with the key before the server's, is replaced: otherwise neither could ever be mended.
func (s *Store) Accept(envelope []byte) (*hub.Deliveries, error) {
	next, err := s.verify(envelope)
	if err != nil {
		return nil, err
	}
	last, err := s.Desired()
	if err != nil && !errors.Is(err, errNotVerified) {
		return nil, err
	}
	if last != nil && next.Number <= last.Number {
		return nil, fmt.Errorf("refused: it is number %d, and number %d was accepted before: it is older, or the server has another ledger, whose numbers are smaller", next.Number, last.Number)
	}
	if err := s.change("desired", func() error { return agent.WriteFile(s.desiredFile(), envelope) }); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = next
	return next, nil
}

func (s *Store) archiveFile(digest string) string {
	return filepath.Join(s.Dir, "archives", filepath.Base(digest))
}

// HasArchive reports whether the archive with a digest is complete.
func (s *Store) HasArchive(digest string) bool {
	_, err := os.Stat(s.archiveFile(digest))
	return err == nil
}

// Archive returns the files of an archive. One that is damaged is removed, so that it is downloaded again.
func (s *Store) Archive(digest string) ([]artifact.File, error) {
	text, err := os.ReadFile(s.archiveFile(digest))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	if artifact.Digest(text) != digest {
		return nil, errors.Join(errors.New("the stored archive is damaged, it is downloaded again"), os.Remove(s.archiveFile(digest)))
	}
	return artifact.Unpack(text)
}

// partSize returns how many bytes of an archive were downloaded.
func (s *Store) partSize(digest string) int64 {
	info, err := os.Stat(s.archiveFile(digest) + ".part")
	if err != nil {
		return 0
	}
	return info.Size()
}

// complete turns what was downloaded into an archive, if it has the digest. Otherwise it is removed.
func (s *Store) complete(digest string) error {
	part := s.archiveFile(digest) + ".part"
	text, err := os.ReadFile(part)
	if err != nil {
		return err
	}
	if got := artifact.Digest(text); got != digest {
		return errors.Join(fmt.Errorf("refused: the archive has digest %.12s…, want %.12s…", got, digest), os.Remove(part))
	}
	return s.change("archive", func() error { return os.Rename(part, s.archiveFile(digest)) })
}

// tidy removes archives that nothing needs.
func (s *Store) tidy(needed map[string]bool) error {
	entries, err := os.ReadDir(filepath.Join(s.Dir, "archives"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !needed[strings.TrimSuffix(e.Name(), ".part")] {
			err = errors.Join(err, s.change("tidy", func() error { return os.Remove(s.archiveFile(e.Name())) }))
		}
	}
	return err
}
