package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Store saves the queue as a file in a folder. Without a folder, nothing is saved.
type Store struct {
	Dir string
}

// stored is the format of the file.
type stored struct {
	Version    int          `json:"version"`
	Cluster    string       `json:"cluster,omitempty"`
	Dropped    int64        `json:"dropped,omitempty"`
	Superseded []hub.Report `json:"superseded,omitempty"`
	Latest     []hub.Report `json:"latest,omitempty"`
}

const storedVersion = 1

// of returns the store of another cluster that the agent reports for.
func (s Store) of(cluster string) Store {
	if s.Dir == "" {
		return s
	}
	return Store{Dir: filepath.Join(s.Dir, "clusters", cluster)}
}

func (s Store) file() string { return filepath.Join(s.Dir, "queue.json") }

// load returns the queue of a cluster; it is never nil. All its reports count as unsent: the server may have lost them.
// An unusable file is renamed, the queue starts empty, and the error says so.
func (s Store) load(cluster string) (*Queue, error) {
	q := &Queue{latest: map[reconciler]*entry{}}
	if s.Dir == "" {
		return q, nil
	}
	data, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return q, nil
	}
	if err != nil {
		return q, fmt.Errorf("read the queue: %w", err)
	}
	var file stored
	if err := decodeQueue(data, cluster, &file); err != nil {
		aside := s.file() + ".unusable"
		return q, errors.Join(fmt.Errorf("%w; the file was renamed to %s, and the queue starts empty", err, aside), os.Rename(s.file(), aside))
	}
	q.superseded, q.dropped = file.Superseded, file.Dropped
	for _, r := range file.Latest {
		q.latest[idOf(&r)] = &entry{Report: r}
	}
	return q, nil
}

func decodeQueue(data []byte, cluster string, file *stored) error {
	if err := json.Unmarshal(data, file); err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
	if file.Version != storedVersion || file.Cluster != cluster {
		return fmt.Errorf("read the queue: it has version %d and belongs to cluster %q, want %d and %q", file.Version, file.Cluster, storedVersion, cluster)
	}
	for _, r := range append(file.Superseded, file.Latest...) {
		if err := r.Check(); err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
	}
	return nil
}

// save replaces the file atomically.
func (s Store) save(q *Queue, cluster string) error {
	if s.Dir == "" {
		return nil
	}
	file := stored{Version: storedVersion, Cluster: cluster, Dropped: q.dropped, Superseded: q.superseded}
	for _, id := range q.ids() {
		file.Latest = append(file.Latest, q.latest[id].Report)
	}
	data, err := json.Marshal(file)
	if err != nil {
		return fmt.Errorf("write the queue: %w", err)
	}
	if err := WriteFile(s.file(), data); err != nil {
		return fmt.Errorf("write the queue: %w", err)
	}
	return nil
}

// WriteFile writes a file atomically: a crash leaves the old content or the new.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
