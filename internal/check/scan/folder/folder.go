package folder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/git/filelock"
)

// Store keeps records in a folder. It is safe for concurrent use.
type Store struct {
	folder string

	mu      sync.Mutex
	claimed map[string]bool
}

// maxRecord is the largest record that is read, in bytes.
const maxRecord = 1 << 20

// New opens a store in a folder, and creates the folder if necessary.
func New(folder string) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open the records of scans: %w", err)
	}
	return &Store{folder: folder, claimed: map[string]bool{}}, nil
}

// path returns a file of a key. A key must consist of hexadecimal digits.
func (s *Store) path(key, ending string) (string, error) {
	if key == "" || strings.Trim(key, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%.80q is not the key of a scan", key)
	}
	return filepath.Join(s.folder, key+ending), nil
}

// Record returns a record, or the zero value if there is none.
func (s *Store) Record(_ context.Context, key string) (scan.Record, error) {
	at, err := s.path(key, ".json")
	if err != nil {
		return scan.Record{}, err
	}
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxRecord {
		return scan.Record{}, nil
	}
	if err != nil {
		return scan.Record{}, err
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return scan.Record{}, err
	}
	var r scan.Record
	if json.Unmarshal(text, &r) != nil {
		return scan.Record{}, nil
	}
	return r, nil
}

// Keep stores a record, and replaces the previous one.
func (s *Store) Keep(_ context.Context, key string, r scan.Record) error {
	at, err := s.path(key, ".json")
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(s.folder, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // it has been renamed
	_, err = temporary.Write(append(text, '\n'))
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), at)
}

// again is the interval between attempts to claim a key.
const again = 200 * time.Millisecond

// Claim waits until no other goroutine or process has claimed a key, and claims it. Release ends the claim.
func (s *Store) Claim(ctx context.Context, key string) (release func(), err error) {
	at, err := s.path(key, ".lock")
	if err != nil {
		return nil, err
	}
	for {
		release, err := s.claim(key, at)
		if release != nil || err != nil {
			return release, err
		}
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// claim tries to claim a key. release is nil if another one has it.
func (s *Store) claim(key, at string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed[key] {
		return nil, nil
	}
	file, err := os.OpenFile(at, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim a scan: %w", err)
	}
	locked, err := filelock.TryLock(file)
	if free := locked || !filelock.Supported; err != nil || !free || !isAt(file, at) {
		return nil, errors.Join(err, file.Close())
	}
	s.claimed[key] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.claimed, key)
		_ = os.Remove(at)
		_ = file.Close()
	}, nil
}

// isAt reports whether a file is still at its path: the previous holder of the lock removes it.
func isAt(file *os.File, at string) bool {
	is, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(at)
	return err == nil && os.SameFile(is, there)
}
