package direct

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
)

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
	// Begun is set while objects of the version are being applied: it is finished, also when the cluster may no longer be changed.
	Begun bool `json:"begun,omitempty"`
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
	// Rejected is the content of the version that was replaced by Healthy, and Why the reason.
	Rejected string `json:"rejected,omitempty"`
	Why      string `json:"why,omitempty"`
	// Left says what was not removed, although it should be, and why.
	Left string `json:"left,omitempty"`
	// Was are IDs that the delivery had before, while objects may have them.
	Was []string `json:"was,omitempty"`
	// Objects is the inventory: what the delivery may have on the cluster, in the order of applying.
	Objects []ref `json:"objects,omitempty"`
}

// clone returns a copy that can be changed.
func (s *state) clone() *state {
	other := *s
	other.Was = slices.Clone(s.Was)
	other.Unhealthy, other.Objects = slices.Clone(s.Unhealthy), slices.Clone(s.Objects)
	return &other
}

// runs reports whether the content of a delivery was applied, and is not being replaced.
func (s *state) runs(one *hub.Delivery) bool {
	return s != nil && s.Phase != applying && s.Phase != removing && s.Delivery.Content() == one.Content()
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
