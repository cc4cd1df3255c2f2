package wiring

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/replica"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// joinReplicas makes this server one of the replicas that share its ledger. A ledger in a file is for one server, which locks it.
func (s *Server) joinReplicas(ctx context.Context) error {
	if !open.Shared(s.Config.Ledger) {
		unlock, err := lockFile(s.Config.Ledger + ".lock")
		if errors.Is(err, errLocked) {
			return fmt.Errorf("another server uses the ledger %q: a ledger in a file is for one server, several need PostgreSQL", s.Config.Ledger)
		}
		if err != nil {
			return fmt.Errorf("lock the ledger for this server: %w", err)
		}
		s.onClose(unlock)
		return nil
	}
	name, err := s.replicaName()
	if err != nil {
		return err
	}
	s.replica = replica.New(replica.Options{
		Ledger: s.Ledger, Name: name, Alone: *s.Config.LocalForge || s.Config.Registry != nil, Lease: s.Lease, Log: s.Log,
		Changed: s.reassigned, Received: s.received,
	})
	err = s.replica.Join(ctx)
	if errors.Is(err, ledger.ErrOccupied) && *s.Config.LocalForge {
		return fmt.Errorf("%w: a server with the embedded forge cannot share it, because the repositories are in its data folder: set localForge to false and configure forges", err)
	}
	if errors.Is(err, ledger.ErrOccupied) && s.Config.Registry != nil {
		return fmt.Errorf("%w: a server with the embedded registry cannot share it, because the artifacts are in its data folder: remove registry and publish to another registry", err)
	}
	if errors.Is(err, ledger.ErrOccupied) {
		return fmt.Errorf("%w, which has the embedded forge or registry and cannot share it: set localForge to false and remove registry there", err)
	}
	if err != nil {
		return err
	}
	s.Keeper.Replicas, s.Keeper.Views = s.replica, &views{s}
	s.Flows.results = &results{ledger: s.Ledger, stored: s.Keeper.Stored}
	s.metrics.ObserveReplicas(func() (replicas, units, losses int) {
		state := s.replica.State()
		return len(state.Replicas), state.Units, state.Losses
	})
	return nil
}

// errLocked means that another process has locked a file.
var errLocked = errors.New("another process has locked it")

// replicaName returns the configured name, or one that a restarted server has again and no other has: its data folder if it has data of
// its own, and otherwise its address.
func (s *Server) replicaName() (string, error) {
	if name := s.Config.Replicas.Name; name != "" {
		return name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name this replica: set replicas.name: %w", err)
	}
	if *s.Config.LocalForge {
		data, err := filepath.Abs(s.Config.Data)
		return host + ":" + data, err
	}
	return host + "/" + s.listener.Addr().String(), nil
}

// reassigned works and views again, because units moved or notes were missed. Clients fetch everything again.
func (s *Server) reassigned() {
	s.Keeper.Reassigned()
	if s.API != nil {
		s.API.Events.Receive(api.Signal{Type: api.SignalReset})
	}
}

// sharedNote is a note that is not for the keeper.
type sharedNote struct {
	// Signal is a signal for browsers and API clients, with its type.
	Signal *sharedSignal `json:"signal,omitempty"`
	// Jobs is what a cluster said about Jobs.
	Jobs *sharedJobs `json:"jobs,omitempty"`
}

type sharedSignal struct {
	Type   api.SignalType `json:"type"`
	Signal api.Signal     `json:"signal"`
}

type sharedJobs struct {
	Cluster  string          `json:"cluster"`
	RunsJobs bool            `json:"runsJobs"`
	Jobs     []hub.JobResult `json:"jobs"`
}

// share sends a note to the other replicas.
func (s *Server) share(n sharedNote) {
	if text, err := json.Marshal(n); err == nil && s.replica != nil {
		s.replica.Post(string(text))
	}
}

// received does what a note of another replica is about.
func (s *Server) received(text string) {
	var n sharedNote
	if err := json.Unmarshal([]byte(text), &n); err != nil || n.Signal == nil && n.Jobs == nil {
		s.Keeper.HandleNote(text)
		return
	}
	if n.Signal != nil {
		n.Signal.Signal.Type = n.Signal.Type
		s.API.Events.Receive(n.Signal.Signal)
	}
	if n.Jobs != nil {
		s.Flows.promotion.Promoter.Jobs(n.Jobs.Cluster, &hub.ReportBatch{Cluster: n.Jobs.Cluster, RunsJobs: n.Jobs.RunsJobs, Jobs: n.Jobs.Jobs})
	}
}

// relay sends signals, and what clusters say about Jobs, to the other replicas.
func (s *Server) relay() {
	if s.replica == nil {
		return
	}
	s.API.Replicas = func() (string, []ledger.Replica) {
		state := s.replica.State()
		return state.ID, state.Replicas
	}
	s.API.Events.Relay = func(signal api.Signal) { s.share(sharedNote{Signal: &sharedSignal{signal.Type, signal}}) }
	s.API.Jobs = func(cluster string, batch *hub.ReportBatch) []hub.JobRequest {
		wanted := s.Flows.promotion.Promoter.Jobs(cluster, batch)
		if len(batch.Jobs) > 0 || !batch.RunsJobs && s.Flows.promotion.Promoter.AsksJobs(cluster) {
			s.share(sharedNote{Jobs: &sharedJobs{cluster, batch.RunsJobs, batch.Jobs}})
		}
		return wanted
	}
}

// sharedSecret returns a secret that all replicas have: the first one's. Without replicas, it is in a file of the data folder.
func (s *Server) sharedSecret(ctx context.Context, name string) (secret.Value, error) {
	own, err := KeptSecret(filepath.Join(s.Config.Data, name))
	if err != nil || s.replica == nil {
		return own, err
	}
	shared, err := s.Ledger.Keep(ctx, name, own.Reveal())
	return secret.New(shared), err
}

// results stores the results of rounds for other replicas.
type results struct {
	ledger ledger.Ledger
	// stored is called after a new result is stored.
	stored func(controlPlane, environment, application string)

	mu sync.Mutex
	// last are the results that were stored or read last, by unit.
	last map[string][sha256.Size]byte
}

// isNew reports whether a result differs from the last one of its unit.
func (r *results) isNew(unit string, result any) (bool, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[unit] == sum {
		return false, nil
	}
	if r.last == nil {
		r.last = map[string][sha256.Size]byte{}
	}
	r.last[unit] = sum
	return true, nil
}

// forget makes the next result of a unit a new one.
func (r *results) forget(unit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, unit)
}

// put stores the result of a round under the hold of its context, if it differs from the last one of this hold apart from what timeless leaves out.
func (r *results) put(ctx context.Context, controlPlane, environment, application string, result, timeless any) error {
	if r == nil {
		return nil
	}
	unit := serve.UnitOf(controlPlane, environment, application)
	h, ok := ledger.HoldOf(ctx)
	if !ok || h.Unit != unit {
		return nil
	}
	// Under another hold, another replica may have stored a result in between.
	changed, err := r.isNew(unit, struct {
		Number int64
		Result any
	}{h.Number, timeless})
	if err != nil || !changed {
		return err
	}
	text, err := json.Marshal(result)
	if err == nil {
		err = r.ledger.PutResult(ctx, h, text)
	}
	if err != nil {
		r.forget(unit)
		return err
	}
	r.stored(controlPlane, environment, application)
	return nil
}

// get reads the result of a unit. ok is false if there is none. fresh means that it was not read before.
func (r *results) get(ctx context.Context, controlPlane, environment, application string, into any) (ok, fresh bool, err error) {
	unit := serve.UnitOf(controlPlane, environment, application)
	text, err := r.ledger.Result(ctx, unit)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, false, fmt.Errorf("read the result of %q that another replica stored: %w", unit, err)
	}
	fresh, err = r.isNew(unit, json.RawMessage(text))
	return true, fresh, err
}

// roundResult is what a round of an environment did on the forge. The files are not in it: they are a function of commits.
type roundResult struct {
	At          time.Time          `json:"at"`
	Error       string             `json:"error,omitempty"`
	Inputs      []string           `json:"inputs,omitempty"`
	PullRequest *forge.PullRequest `json:"pullRequest,omitempty"`
	Refused     *forge.PullRequest `json:"refused,omitempty"`
	Waits       string             `json:"waits,omitempty"`
	Next        time.Time          `json:"next,omitzero"`
}

// putRound stores the result of an environment's round.
func (r *results) putRound(ctx context.Context, controlPlane, environment string, o *schedule.Outcome, err error, now time.Time) error {
	result := roundResult{}
	if err != nil {
		result.Error = secret.Redact(err.Error())
	}
	if o != nil {
		result.Inputs = []string{o.Inputs.Main.Commit, o.Inputs.Branch.Commit, o.Head}
		result.PullRequest, result.Refused, result.Waits, result.Next = o.PullRequest, o.Refused, o.Waits, o.Next
	}
	timeless := result
	result.At = now
	return r.put(ctx, controlPlane, environment, "", result, timeless)
}

// chainResult is the result of a round of a chain. The authors decide who may approve what, and are in no API's answer.
type chainResult struct {
	Outcome *promote.Outcome    `json:"outcome"`
	Line    []lineCommit        `json:"line"`
	Authors map[string][]string `json:"authors,omitempty"`
	Jobs    []promote.OpenJobs  `json:"jobs,omitempty"`
}

// lineCommit is a commit with its authors.
type lineCommit struct {
	promote.Commit
	Authors []string `json:"authors,omitempty"`
}

func withAuthors(line []promote.Commit) []lineCommit {
	var all []lineCommit
	for _, c := range line {
		all = append(all, lineCommit{c, c.Authors})
	}
	return all
}

func commitsOf(line []lineCommit) []promote.Commit {
	var all []promote.Commit
	for _, c := range line {
		c.Commit.Authors = c.Authors
		all = append(all, c.Commit)
	}
	return all
}

// newChainResult returns an outcome as it is stored.
func newChainResult(o *promote.Outcome, jobs []promote.OpenJobs) chainResult {
	result := chainResult{Outcome: o, Line: withAuthors(o.Line), Authors: map[string][]string{}, Jobs: jobs}
	for _, e := range o.Environments {
		result.Authors[e.Environment] = e.Authors
		for _, ring := range e.Rings {
			result.Authors[e.Environment+"/"+ring.Name] = ring.Authors
		}
	}
	return result
}

// outcome returns the outcome as it was before it was stored.
func (c chainResult) outcome() *promote.Outcome {
	o := c.Outcome
	o.Line = commitsOf(c.Line)
	for i := range o.Environments {
		e := &o.Environments[i]
		e.Authors = c.Authors[e.Environment]
		for j := range e.Rings {
			e.Rings[j].Authors = c.Authors[e.Environment+"/"+e.Rings[j].Name]
		}
	}
	return o
}

// putChain stores the result of a chain's round.
func (r *results) putChain(ctx context.Context, controlPlane string, o *promote.Outcome, jobs []promote.OpenJobs) error {
	if r == nil {
		return nil
	}
	result := newChainResult(o, jobs)
	timeless := result
	same := *o
	same.At, same.Did = time.Time{}, nil
	timeless.Outcome = &same
	return r.put(ctx, controlPlane, "", "", result, timeless)
}

// applicationResult is the result of an application's round.
type applicationResult struct {
	Application *query.Application `json:"application"`
	Line        []lineCommit       `json:"line"`
	Jobs        []promote.OpenJobs `json:"jobs,omitempty"`
}

// putApplication stores the result of an application's round.
func (r *results) putApplication(ctx context.Context, a *query.Application, jobs []promote.OpenJobs) error {
	if r == nil {
		return nil
	}
	result := applicationResult{a, withAuthors(a.Line), jobs}
	timeless := result
	same := *a
	same.LastRound = time.Time{}
	timeless.Application = &same
	return r.put(ctx, a.ControlPlane, "", a.Subject, result, timeless)
}

// views shows what other replicas work on.
type views struct{ *Server }

var _ serve.Views = views{}

// Round reads an environment, and adds what the last round of the replica that works on it did on the forge.
func (v views) Round(ctx context.Context, controlPlane, environment string) (*schedule.Outcome, error) {
	f := v.Flows
	draft, err := f.plane(controlPlane).View(ctx, environment)
	o := draft.Outcome()
	var last roundResult
	if err == nil {
		var known bool
		known, _, err = f.results.get(ctx, controlPlane, environment, "", &last)
		if known && err == nil && last.Error != "" {
			err = errors.New(last.Error)
		}
	}
	o.PullRequest, o.Refused, o.Waits = last.PullRequest, last.Refused, last.Waits
	was := f.board.Outcome(controlPlane, environment)
	f.board.Scheduled(controlPlane, environment, o, err, time.Now())
	if o.Loaded != nil {
		f.promotion.Hosts.AddRead(o.Loaded)
	}
	if was == nil || was.Head != o.Head || !reflect.DeepEqual(was.Inputs, o.Inputs) || !reflect.DeepEqual(was.PullRequest, o.PullRequest) {
		v.API.Events.Receive(api.Signal{Type: api.SignalEnvironment, ControlPlane: controlPlane, Environment: environment})
	}
	return o, err
}

// Promotion reads the result of a chain.
func (v views) Promotion(ctx context.Context, controlPlane string) (*serve.Promoted, error) {
	var last chainResult
	known, fresh, err := v.Flows.results.get(ctx, controlPlane, "", "", &last)
	if err != nil || !known || last.Outcome == nil {
		return nil, err
	}
	o := last.outcome()
	if fresh {
		v.Flows.board.Promoted(controlPlane, o)
		v.Flows.promotion.Promoter.SetJobs(o.Subject, last.Jobs)
		for _, e := range o.Environments {
			v.API.Events.Receive(api.Signal{Type: api.SignalPromotion, ControlPlane: controlPlane, Environment: e.Environment, Commit: e.Commit})
		}
	}
	return &serve.Promoted{Environments: o.Environments}, nil
}

// Delivery reads the result of an application.
func (v views) Delivery(ctx context.Context, controlPlane, application string) (*serve.Delivered, error) {
	var last applicationResult
	known, fresh, err := v.Flows.results.get(ctx, controlPlane, "", application, &last)
	if err != nil || !known || last.Application == nil {
		return nil, err
	}
	last.Application.Line = commitsOf(last.Line)
	if fresh {
		v.Flows.board.Viewed(last.Application)
		v.Flows.promotion.Promoter.SetJobs(application, last.Jobs)
		v.API.Events.Receive(api.Signal{Type: api.SignalApplication, ControlPlane: controlPlane, Application: last.Application.Name, Commit: last.Application.Source.Commit})
	}
	return &serve.Delivered{Application: last.Application}, nil
}

// heldRequests refuses to write to a forge after the lease of the work has ended; see [replica.Check].
type heldRequests struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (h heldRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := replica.Check(r.Context()); err != nil {
			return nil, err
		}
	}
	return h.next.RoundTrip(r)
}

// whileHeld wraps a transport, or the usual one.
func whileHeld(next http.RoundTripper) http.RoundTripper {
	if next != nil {
		return heldRequests{next}
	}
	return heldRequests{outbound.Transport(outbound.Options{})}
}
