package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/schedule/external/schedulertest"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// restless chooses another cluster type each time.
type restless struct{ asked atomic.Int32 }

func (r *restless) Ask(_ context.Context, q *schedulingv1.Request) (*schedulingv1.Response, error) {
	n := int(r.asked.Add(1)) - 1
	t := q.Targets[0]
	return &schedulingv1.Response{Version: 1, Digest: q.Digest, Decisions: []schedulingv1.Decision{
		{Target: t.Name, ClusterType: t.Candidates[n%len(t.Candidates)], Reason: "https://u:hunter2@prices/\n\x1b[31mred"},
	}, Warnings: []string{fmt.Sprint("answer ", n)}}, nil
}

func asker(s external.Scheduler) *external.Asker {
	return &external.Asker{Schedulers: map[string]external.Configured{"tested": {Scheduler: s}}}
}

func ask(t *testing.T, a *external.Asker, in external.Input) *external.Asked {
	t.Helper()
	asked, err := a.Ask(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

func TestAnAnswerIsUsedUntilTheQuestionChanges(t *testing.T) {
	s := &restless{}
	first := asker(s)
	in := external.Input{Snapshot: schedulertest.Fleet()}
	answer := ask(t, first, in)
	again := ask(t, first, in)
	if s.asked.Load() != 1 || fmt.Sprint(again.Answers) != fmt.Sprint(answer.Answers) {
		t.Errorf("before it is recorded, it was asked %d times", s.asked.Load())
	}
	if text := fmt.Sprint(answer.Recorded); strings.Contains(text, "hunter2") || strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("recorded: %q", text)
	}
	recorded := func(string) []bundle.Answer { return answer.Recorded["chosen"] }
	for name, other := range map[string]external.Input{
		"recorded": {Snapshot: in.Snapshot, Recorded: recorded}, "proposed": {Snapshot: in.Snapshot, Proposed: recorded},
	} {
		for who, a := range map[string]*external.Asker{"who has the scheduler": asker(s), "who has not": nil} {
			if got := ask(t, a, other); fmt.Sprint(got.Answers) != fmt.Sprint(answer.Answers) || s.asked.Load() != 1 {
				t.Errorf("%s, %s: %+v after %d questions", name, who, got.Answers, s.asked.Load())
			}
		}
	}
	changed := schedulertest.Fleet()
	changed.ClusterTypes[0].Labels = map[string]string{"price": "8"}
	next := ask(t, first, external.Input{Snapshot: changed, Recorded: recorded})
	if fmt.Sprint(next.Answers) == fmt.Sprint(answer.Answers) || s.asked.Load() != 2 {
		t.Errorf("the question changed: %+v after %d questions", next.Answers, s.asked.Load())
	}
	if len(next.Problems) != 1 || next.Problems[0].Kind != fleet.KindSchedulerWarning {
		t.Errorf("warnings: %+v", next.Problems)
	}
	var unknown *placement.Unanswered
	if err := ask(t, nil, external.Input{Snapshot: changed, Recorded: recorded}).Answers["chosen"].Err; !errors.As(err, &unknown) || unknown.Kind != fleet.KindSchedulerUnknown {
		t.Errorf("nobody is configured: %v", err)
	}
}

// A recorded answer that fits the digest, but not the question, is one that somebody wrote.
func TestRecordedAnswersAreChecked(t *testing.T) {
	s := &restless{}
	a := asker(s)
	in := external.Input{Snapshot: schedulertest.Fleet()}
	forged := ask(t, a, in).Recorded["chosen"]
	forged[0].Decisions = []schedulingv1.Decision{{Target: "shop-web", ClusterType: "elsewhere"}}
	in.Recorded = func(string) []bundle.Answer { return forged }
	if got := ask(t, asker(s), in); s.asked.Load() != 2 || got.Answers["chosen"].Err != nil {
		t.Errorf("asked %d times: %+v", s.asked.Load(), got.Answers)
	}
}

// hanging answers when it has no more time.
type hanging struct{ asked atomic.Int32 }

func (h *hanging) Ask(ctx context.Context, _ *schedulingv1.Request) (*schedulingv1.Response, error) {
	h.asked.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestASlowSchedulerDelaysNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedulertest.Fleet()
		for i := range 100 {
			s.Policies = append(s.Policies, &fleet.Policy{
				Name: fmt.Sprintf("slow-%03d", i), Targets: labels.Everything(), ClusterTypes: labels.Everything(), Scheduler: "slow",
			})
		}
		slow := &hanging{}
		a := asker(&restless{})
		a.Schedulers["slow"] = external.Configured{Scheduler: slow, Timeout: 10 * time.Second}
		var answeredAfter time.Duration
		begun := time.Now()
		a.Observe = func(scheduler string, _ time.Duration, _ error) {
			if scheduler == "tested" {
				answeredAfter = time.Since(begun)
			}
		}
		asked := ask(t, a, external.Input{Snapshot: s})
		if took := time.Since(begun); took > 10*time.Second || answeredAfter != 0 {
			t.Errorf("all took %s, the other scheduler %s", took, answeredAfter)
		}
		if asked.Answers["chosen"].Err != nil || asked.Answers["slow-099"].Err == nil || slow.asked.Load() > 4 {
			t.Errorf("chosen %v, slow %v, asked %d times", asked.Answers["chosen"].Err, asked.Answers["slow-099"].Err, slow.asked.Load())
		}
		// It is left alone for a while, and then asked again.
		before := slow.asked.Load()
		if ask(t, a, external.Input{Snapshot: s}); slow.asked.Load() != before || time.Since(begun) > 10*time.Second {
			t.Error("it was asked again at once")
		}
		time.Sleep(31 * time.Second)
		if ask(t, a, external.Input{Snapshot: s}); slow.asked.Load() == before {
			t.Error("it was never asked again")
		}
	})
}

func TestFactsArePartOfTheQuestion(t *testing.T) {
	s := &restless{}
	prices := `{"small": 3}`
	a := asker(&external.WithFacts{Scheduler: s, Read: func(context.Context) ([]byte, error) { return []byte(prices), nil }})
	in := external.Input{Snapshot: schedulertest.Fleet()}
	first := ask(t, a, in)
	prices = " {\"small\":\n3} "
	if ask(t, a, in); s.asked.Load() != 1 {
		t.Error("white space is a fact")
	}
	// Without the facts, a recorded answer is still one to the same question.
	in.Recorded = func(string) []bundle.Answer { return first.Recorded["chosen"] }
	if got := ask(t, nil, in); got.Answers["chosen"].Err != nil {
		t.Errorf("recorded: %v", got.Answers["chosen"].Err)
	}
	prices = `{"small": 9}`
	if ask(t, a, in); s.asked.Load() != 2 {
		t.Error("new prices are not asked about")
	}
	for _, prices = range []string{"no JSON", `"` + strings.Repeat("x", external.MaxFacts) + `"`} {
		if got := ask(t, a, in); got.Answers["chosen"].Err == nil {
			t.Errorf("facts %.20q have no error", prices)
		}
	}
}

func TestRequestsHaveWhatADecisionNeeds(t *testing.T) {
	s := schedulertest.Fleet()
	s.Clusters = []*fleet.Cluster{{Name: "small-01", Type: "small", Labels: map[string]string{"ring": "canary"}}}
	s.Policies[0].Max = 1
	standing := func(yield func(placement.Pair, []string) bool) {
		yield(placement.Pair{Target: "shop-web", ClusterType: "large"}, []string{"chosen"})
	}
	q := placement.Questions(s, placement.Options{Published: standing})[0]
	r, err := external.RequestOf(s, &q, json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Digest, r.Seed = "", 0
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"task":"schedule","digest":"","seed":0,"scheduler":"tested","environment":"dev",` +
		`"policy":{"name":"chosen","maxClusterTypes":1},` +
		`"clusterTypes":[{"name":"large"},{"name":"small","clusters":[{"name":"small-01","labels":{"ring":"canary"}}]}],` +
		`"targets":[{"name":"shop-web","workload":"shop","candidates":["large","small"],"previous":["large"]}],"facts":{}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
