package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const controlPlane = "https://forge.example.com/platform/control-plane"

// fakeFlows records the keeper's calls. Its rounds read the control plane, a workload and the GitOps repository.
type fakeFlows struct {
	mu      sync.Mutex
	calls   []string
	changes []forge.PullRequest
	// err is returned by the next rounds; with failing, only by those of that environment. With hold, rounds wait until wait is closed,
	// which is created inside the bubble.
	err     error
	failing string
	hold    bool
	wait    chan struct{}
	// merges is the environment whose next round merges its pull request.
	merges string
	// again is the environment whose next round needs another one after a minute.
	again string
	// without is a removed environment.
	without string
	// registry gets the keeper's metrics.
	registry *prometheus.Registry
}

func (f *fakeFlows) note(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

// taken returns the calls since the last call of taken, sorted, because workers run concurrently.
func (f *fakeFlows) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	slices.Sort(calls)
	return calls
}

func (f *fakeFlows) Environments(context.Context, string) ([]string, error) {
	f.note("environments")
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc([]string{"dev", "stage"}, func(name string) bool { return name == f.without }), nil
}

func (f *fakeFlows) Changes(context.Context, string) ([]forge.PullRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes, nil
}

func (f *fakeFlows) Round(ctx context.Context, url, environment string) (*schedule.Outcome, error) {
	f.note("round " + environment)
	if f.wait != nil {
		select {
		case <-f.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err
	if f.failing != "" && f.failing != environment {
		err = nil
	}
	var merged *forge.PullRequest
	if f.merges == environment {
		f.merges, merged = "", &forge.PullRequest{Number: 7, State: forge.Merged}
	}
	var next time.Time
	if f.again == environment {
		f.again, next = "", time.Now().Add(time.Minute)
	}
	return &schedule.Outcome{PullRequest: merged, Next: next, Read: []schedule.Location{
		{Repo: url, Branch: environment},
		{Repo: url, Branch: "main"},
		{Repo: "git@forge.example.com:teams/shop.git", Branch: "main"},
		{Repo: "https://forge.example.com/platform/gitops", Branch: environment},
	}}, err
}

func (f *fakeFlows) Preview(_ context.Context, _ string, c forge.PullRequest) (*schedule.Preview, error) {
	f.note("preview " + c.Head.Commit)
	if c.Head.Fork != "" {
		return nil, nil
	}
	return &schedule.Preview{}, nil
}

// keep runs a keeper in a synctest bubble. test begins when the first rounds have ended.
func keep(t *testing.T, f *fakeFlows, test func(k *Keeper)) {
	t.Helper()
	keepWith(t, f, nil, test)
}

func keepWith(t *testing.T, f *fakeFlows, c Chains, test func(k *Keeper)) {
	t.Helper()
	keepAll(t, f, c, nil, test)
}

func keepAll(t *testing.T, f *fakeFlows, c Chains, d Deliveries, test func(k *Keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if f.hold {
			f.wait = make(chan struct{})
		}
		f.registry = prometheus.NewRegistry()
		k := &Keeper{
			Flows: f, Chains: c, Deliveries: d, ControlPlanes: []string{controlPlane}, Poll: time.Hour,
			Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: NewMetrics(f.registry),
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		synctest.Wait()
		test(k)
		cancel()
		<-done
		synctest.Wait()
	})
}

func want(t *testing.T, f *fakeFlows, calls ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(calls, f.taken()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestPolling(t *testing.T) {
	f := &fakeFlows{}
	keep(t, f, func(k *Keeper) {
		want(t, f, "environments", "round dev", "round stage")
		if !k.Ready() {
			t.Error("not ready after the first look")
		}
		time.Sleep(73 * time.Minute) // longer than the maximum jitter
		want(t, f, "environments", "round dev", "round stage")
	})
}

func TestARoundThatWaitsIsRepeated(t *testing.T) {
	f := &fakeFlows{again: "stage"}
	keep(t, f, func(*Keeper) {
		f.taken()
		time.Sleep(2 * time.Minute)
		want(t, f, "round stage")
	})
}

func TestAnEventLeadsToTheRoundsThatReadThePlace(t *testing.T) {
	tests := map[string]struct {
		event forge.Event
		want  []string
	}{
		"a branch of an environment": {forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "dev"}, []string{"round dev"}},
		"main":                       {forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"}, []string{"environments", "round dev", "round stage"}},
		"a workload":                 {forge.Event{Kind: forge.EventPush, Repository: "teams/shop", Branch: "main"}, []string{"round dev", "round stage"}},
		"another branch of it":       {forge.Event{Kind: forge.EventPush, Repository: "teams/shop", Branch: "topic"}, nil},
		"a label on a GitOps change": {forge.Event{Kind: forge.EventLabel, Repository: "platform/gitops", Branch: "stage"}, []string{"round stage"}},
		"a status anywhere there":    {forge.Event{Kind: forge.EventStatus, Repository: "platform/gitops"}, []string{"round dev", "round stage"}},
		"in another spelling":        {forge.Event{Kind: forge.EventPush, Repository: "Platform/Control-Plane", Branch: "dev"}, []string{"round dev"}},
		"main in another spelling":   {forge.Event{Kind: forge.EventPush, Repository: "Platform/Control-Plane", Branch: "main"}, []string{"environments", "round dev", "round stage"}},
		"another team's repository":  {forge.Event{Kind: forge.EventPush, Repository: "other/thing", Branch: "main"}, nil},
		"a comment":                  {forge.Event{Kind: forge.EventComment, Repository: "platform/gitops"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeFlows{}
			keep(t, f, func(k *Keeper) {
				f.taken()
				k.HandleEvent(test.event)
				want(t, f, test.want...)
			})
		})
	}
}

func TestAStormOfEventsIsOneMoreRound(t *testing.T) {
	f := &fakeFlows{hold: true}
	keep(t, f, func(k *Keeper) {
		close(f.wait)
		synctest.Wait()
		f.taken()
		f.wait = make(chan struct{})
		push := forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "dev"}
		k.HandleEvent(push)
		synctest.Wait() // the round is running
		for range 1000 {
			k.HandleEvent(push)
		}
		close(f.wait)
		want(t, f, "round dev", "round dev")
	})
}

// Events can arrive before a round ends and it is known what it reads.
func TestAnEventDuringTheFirstRoundIsNotLost(t *testing.T) {
	f := &fakeFlows{hold: true}
	keep(t, f, func(k *Keeper) {
		want(t, f, "environments", "round dev", "round stage")
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "teams/shop", Branch: "main"})
		close(f.wait)
		want(t, f, "round dev", "round stage")
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "teams/unknown", Branch: "main"})
		want(t, f)
	})
}

// A round that merges a pull request is followed by another one that reads the branch, without an event of the forge.
func TestRoundThatMergesIsRepeated(t *testing.T) {
	f := &fakeFlows{merges: "stage"}
	keep(t, f, func(*Keeper) {
		want(t, f, "environments", "round dev", "round stage", "round stage")
	})
}

func TestAFailedRoundIsTriedAgainWithGrowingPauses(t *testing.T) {
	f := &fakeFlows{err: errors.New("the forge is down")}
	keep(t, f, func(*Keeper) {
		f.taken()
		time.Sleep(firstRetry)
		want(t, f, "round dev", "round stage")
		time.Sleep(firstRetry)
		want(t, f)
		time.Sleep(firstRetry)
		want(t, f, "round dev", "round stage")
		f.mu.Lock()
		f.err = nil
		f.mu.Unlock()
		time.Sleep(4 * firstRetry)
		want(t, f, "round dev", "round stage")
		time.Sleep(10 * time.Minute)
		want(t, f)
	})
}

func TestRetryAfterIsRespected(t *testing.T) {
	f := &fakeFlows{err: &forge.Error{Kind: forge.ErrRateLimited, RetryAfter: 7 * time.Minute}}
	keep(t, f, func(*Keeper) {
		f.taken()
		time.Sleep(7*time.Minute - time.Second)
		want(t, f)
		time.Sleep(time.Second)
		want(t, f, "round dev", "round stage")
	})
}

func TestAChangeIsPreviewedWhenOneOfItsEndsMoves(t *testing.T) {
	change := func(head string) forge.PullRequest {
		return forge.PullRequest{Number: 7, Head: forge.Ref{Branch: "topic", Commit: head}, Base: forge.Ref{Branch: "dev", Commit: "b"}}
	}
	f := &fakeFlows{changes: []forge.PullRequest{change("one")}}
	event := forge.Event{Kind: forge.EventPullRequest, Repository: "platform/control-plane", Branch: "other", PullRequest: 7}
	keep(t, f, func(k *Keeper) {
		want(t, f, "environments", "preview one", "round dev", "round stage")
		k.HandleEvent(event)
		want(t, f)
		f.mu.Lock()
		f.changes = []forge.PullRequest{change("two")}
		f.mu.Unlock()
		k.HandleEvent(event)
		want(t, f, "preview two")
	})
}

// A pull request that is not planned is not retried.
func TestAChangeThatIsNotPlanned(t *testing.T) {
	fork := forge.PullRequest{Number: 8, Head: forge.Ref{Branch: "topic", Commit: "theirs", Fork: "stranger/control-plane"}}
	keep(t, &fakeFlows{changes: []forge.PullRequest{fork}}, func(k *Keeper) {
		want(t, k.Flows.(*fakeFlows), "environments", "preview theirs", "round dev", "round stage")
		time.Sleep(10 * time.Second)
		want(t, k.Flows.(*fakeFlows))
	})
}

func TestStoppingAbandonsRounds(t *testing.T) {
	f := &fakeFlows{hold: true} // no round ends by itself
	keep(t, f, func(*Keeper) { want(t, f, "environments", "round dev", "round stage") })
}
