package direct

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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

	// before is called before every change of a file, and its error prevents it: tests stop there.
	before func(what string) error
}

// open creates the folders.
func (s *Store) open() error {
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

// Desired returns the last answer of the server; nil if there is none.
func (s *Store) Desired() (*hub.Deliveries, error) {
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
		return nil, fmt.Errorf("refused: it is number %d, and number %d was accepted before: it is older, or the clock of the server was set back", next.Number, last.Number)
	}
	return next, s.change("desired", func() error { return agent.WriteFile(s.desiredFile(), envelope) })
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

// phase is how far a delivery is.
type phase string

const (
	// applying means that objects are being applied or removed, or that the last attempt failed.
	applying phase = "applying"
	// waiting means that everything was applied and is not healthy yet.
	waiting phase = "waiting"
	healthy phase = "healthy"
	// unhealthy means that it did not become healthy in time, or no longer is.
	unhealthy phase = "unhealthy"
	removing  phase = "removing"
)

// state is what is known about a delivery, in a file.
type state struct {
	Format int `json:"format"`
	// Delivery is what is applied, or was attempted last.
	Delivery hub.Delivery `json:"delivery"`
	Phase    phase        `json:"phase"`
	// Since is when everything was applied.
	Since time.Time `json:"since,omitzero"`
	// Message explains the phase.
	Message string `json:"message,omitempty"`
	// Unhealthy are objects that are not healthy.
	Unhealthy []hub.ObjectHealth `json:"unhealthy,omitempty"`
	// Applied is the commit that was applied last, as a whole.
	Applied string `json:"applied,omitempty"`
	// Healthy is what was healthy last.
	Healthy *hub.Delivery `json:"healthy,omitempty"`
	// Rejected is the version that was replaced by Healthy, and Why the reason.
	Rejected string `json:"rejected,omitempty"`
	Why      string `json:"why,omitempty"`
	// Left says what was not removed, although it should be, and why.
	Left string `json:"left,omitempty"`
	// Objects is the inventory: what the delivery may have on the cluster, in the order of applying.
	Objects []ref `json:"objects,omitempty"`
}

const stateFormat = 1

func (s *Store) stateFile(id string) string { return filepath.Join(s.Dir, "deliveries", stateName(id)) }

// stateName returns the name of the state file of a delivery.
func stateName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// states returns the states of all deliveries by ID, and why files cannot be read, by name. Their inventories must not be lost.
func (s *Store) states() (all map[string]*state, damaged map[string]error, err error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, "deliveries"))
	if err != nil {
		return nil, nil, err
	}
	all, damaged = map[string]*state{}, map[string]error{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // of an interrupted write
			continue
		}
		one, err := s.state(e.Name())
		if err != nil {
			damaged[e.Name()] = err
			continue
		}
		all[one.Delivery.ID()] = one
	}
	return all, damaged, nil
}

func (s *Store) state(name string) (*state, error) {
	path := filepath.Join(s.Dir, "deliveries", name)
	unknown := func(err error) error {
		return fmt.Errorf("what it has on the cluster is not known, and nothing is changed: read %s: %w; "+
			"restore the file, or remove it to apply everything again, which removes nothing that is no longer wanted", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unknown(err)
	}
	var one state
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, unknown(err)
	}
	if one.Format != stateFormat {
		return nil, fmt.Errorf("nothing is changed: %s has format %d, want %d: use the version of the agent that wrote it", path, one.Format, stateFormat)
	}
	if stateName(one.Delivery.ID()) != name {
		return nil, unknown(fmt.Errorf("it is that of %s", one.Delivery.ID()))
	}
	return &one, nil
}

func (s *Store) put(one *state) error {
	one.Format = stateFormat
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if err := s.change("state", func() error { return agent.WriteFile(s.stateFile(one.Delivery.ID()), text) }); err != nil {
		return fmt.Errorf("store the state of %s: %w", one.Delivery.ID(), err)
	}
	return nil
}

func (s *Store) forget(id string) error {
	return s.change("forget", func() error { return os.Remove(s.stateFile(id)) })
}
