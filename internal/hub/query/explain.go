package query

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// ExplainQuery selects a target of an environment, and where to explain it.
type ExplainQuery struct {
	Name         string `path:"name" maxLength:"253" doc:"Name of the environment."` // required
	ControlPlane string `query:"controlPlane" maxLength:"2048" doc:"URL of the control plane; required only if several have an environment of this name."`
	Target       string `query:"target" required:"true" maxLength:"600" doc:"Name of the target, or WORKLOAD/TARGET."` // required
	ClusterType  string `query:"clusterType" maxLength:"253" doc:"Only on this cluster type. Default: all."`
	Cluster      string `query:"cluster" maxLength:"253" doc:"On this cluster, which has a Cluster object, instead of a cluster type."`
	Config       string `query:"config" maxLength:"512" doc:"Where the values of this key of the platform configuration, and of those below it, are written; * for all keys. It needs clusterType or cluster. Default: none."`
}

// Explained explains a target as of the last round of its environment.
type Explained struct {
	ControlPlane string `json:"controlPlane"`
	// Round is the time of that round.
	Round time.Time `json:"round"`
	// GitOpsCommit is the commit of the GitOps branch that the round compared with; empty if the branch did not exist.
	GitOpsCommit string `json:"gitOpsCommit,omitempty"`
	schedule.Explanation
}

// ErrNotRead means that an environment was not read since the start of the server. Its first round runs soon.
var ErrNotRead = errors.New("the environment has not been read yet")

// Explain says why a target is, or is not, on cluster types, and where its configuration is written. It reads no repositories: it has the
// state that the last round found. It gives the same reasons and values as the command, for the same commits.
// Errors are [UnknownError], [AmbiguousError], [ErrNotRead], and [ledger.ErrNotFound] for other unknown names.
func (o *Observer) Explain(ctx context.Context, q ExplainQuery) (Explained, error) {
	switch {
	case q.ClusterType != "" && q.Cluster != "":
		return Explained{}, fmt.Errorf("%w: name a cluster type or a cluster, not both", ledger.ErrInvalid)
	case q.Config != "" && q.ClusterType == "" && q.Cluster == "":
		return Explained{}, fmt.Errorf("%w: configuration is explained for one cluster type or cluster", ledger.ErrInvalid)
	}
	s, err := o.Standing(q.Name, q.ControlPlane)
	if err != nil {
		return Explained{}, err
	}
	draft, err := s.Draft()
	if err != nil {
		return Explained{}, err
	}
	release, err := o.explaining.take(ctx)
	if err != nil {
		return Explained{}, err
	}
	defer release()
	e, err := schedule.Explain(draft, schedule.Question{Target: q.Target, ClusterType: q.ClusterType, Cluster: q.Cluster, Key: q.Config})
	if err != nil {
		return Explained{}, fmt.Errorf("%w: %w", ledger.ErrNotFound, err)
	}
	return Explained{ControlPlane: s.ControlPlane, Round: utc(s.Scheduling.At), GitOpsCommit: s.Scheduling.Outcome.Head, Explanation: *e}, nil
}

// Draft returns the draft of the environment's last successful round, which is shared. The error is [ErrNotRead] before the first one.
func (s *Standing) Draft() (*schedule.Draft, error) {
	if s.Scheduling == nil {
		return nil, ErrNotRead
	}
	draft := s.Scheduling.Outcome.Draft()
	if draft == nil {
		return nil, ErrNotRead
	}
	return draft, nil
}

// maxExplaining is how many explanations are made at the same time. Policies that spread, limit or score repeat decisions for each,
// which must not take the processors from rounds.
const maxExplaining = 2

// turns limits how much runs at the same time. The zero value is ready.
type turns struct {
	once sync.Once
	free chan struct{}
}

// take waits for a turn. Call release when it ends.
func (t *turns) take(ctx context.Context) (release func(), err error) {
	t.once.Do(func() { t.free = make(chan struct{}, maxExplaining) })
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
