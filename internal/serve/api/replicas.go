package api

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Replica is a server among those that share a ledger.
type Replica struct {
	// Name is its name, ID that of its current run.
	Name string `json:"name"`
	ID   string `json:"id"`
	// Joined is when it joined the others, by the clock of the database.
	Joined time.Time `json:"joined"`
	// Answers marks the server that gave this answer.
	Answers bool `json:"answers"`
	// Units are what it works on: environments, chains and applications.
	Units []Unit `json:"units"`
}

// Unit is what one server works on at a time.
type Unit struct {
	Name string `json:"name"`
	// Number grows each time that the unit goes to another server.
	Number int64 `json:"number"`
}

// Replicas are the servers that share a ledger.
type Replicas struct {
	Items []Replica `json:"items"`
}

func registerReplicas(s *service) {
	ask(s, operation{
		id: "list-replicas", path: "/replicas", summary: "List the servers that share the ledger, and what each one works on",
		about: "Empty if the ledger is a file, and while this server has no lease.",
	}, s.listReplicas)
}

// listReplicas returns the living servers by ID, with what they hold.
func (s *service) listReplicas(ctx context.Context, _ struct{}) (Replicas, error) {
	found := Replicas{Items: []Replica{}}
	if s.Replicas == nil {
		return found, nil
	}
	own, living := s.Replicas()
	holds, err := s.Ledger.Holds(ctx)
	if err != nil {
		return found, err
	}
	units := map[string][]Unit{}
	for _, h := range holds {
		units[h.Replica] = append(units[h.Replica], Unit{h.Unit, h.Number})
	}
	for _, r := range living {
		found.Items = append(found.Items, Replica{
			Name: r.Name, ID: r.ID, Joined: r.Joined, Answers: r.ID == own, Units: append([]Unit{}, units[r.ID]...),
		})
	}
	return found, nil
}

// Holder knows what servers work on.
type Holder interface {
	Holds(ctx context.Context) ([]ledger.Hold, error)
}
