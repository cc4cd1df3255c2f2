package web_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// outputPipeline has the environments of a fleet, each at the same commit, and notes the statuses of that commit.
type outputPipeline struct{ statuses map[string]decide.Status }

func (p *outputPipeline) Read(context.Context) (*promote.State, error) {
	is := &promote.State{Subject: controlPlane, Line: []promote.Commit{{SHA: promoted}}}
	for _, name := range outputEnvironments {
		is.Stages = append(is.Stages, decide.Stage{Name: name, Promotion: &v1alpha1.Promotion{}})
		is.Places = append(is.Places, promote.EnvironmentState{
			Environment: name, Commit: promoted, GitOps: hub.Source{Repository: gitOps, Ref: name},
			Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: dev1},
		})
	}
	is.Chain, is.Problems = decide.NewChain(is.Stages, nil)
	return is, nil
}

func (p *outputPipeline) Move(context.Context, promote.Move) (promote.MoveResult, error) {
	return promote.MoveResult{}, nil
}

func (p *outputPipeline) Withdraw(context.Context, decide.Withdraw) error { return nil }

func (p *outputPipeline) SetStatus(_ context.Context, s decide.SetStatus) error {
	p.statuses[s.Environment] = s.Status
	return nil
}

// Reaches has a history in which no commit contains another.
func (p *outputPipeline) Reaches(_ context.Context, _ hub.Source, commit string, hashes []string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, hash := range hashes {
		known[hash] = hash == commit
	}
	return known, nil
}

// promote runs a round of promotion, whose outcome is that of the fleet from then on, and returns the statuses.
func (f *outputFleet) promote() map[string]decide.Status {
	f.t.Helper()
	for _, name := range outputEnvironments {
		f.must(f.ledger.RecordStep(f.t.Context(), ledger.Step{
			PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: promoted, Environment: name},
			Kind:        string(promote.Published), At: noon.Add(-50 * time.Minute), Detail: []byte(`{"revision":"` + dev1 + `"}`),
		}))
	}
	p := &outputPipeline{statuses: map[string]decide.Status{}}
	promoter := &promote.Promoter{Ledger: f.ledger, Ancestry: p, Now: func() time.Time { return noon }}
	defer promoter.Close()
	outcome, err := promoter.Round(f.t.Context(), p)
	f.must(err)
	f.fleet[0].Promotion = outcome
	return p.statuses
}

// checkPromotion runs a round of promotion, and wants the same of its statuses, messages and metrics.
func (f *outputFleet) checkPromotion(server *api.Server) {
	f.t.Helper()
	statuses := f.promote()
	registry := prometheus.NewRegistry()
	serve.NewMetrics(registry).Stand(controlPlane, f.fleet[0].Promotion.Environments)
	registry.MustRegister(&serve.ClusterMetrics{Fleet: f.pages.Observer})
	metrics := f.gather(registry)
	var listed query.Page[query.Environment]
	f.decode(server, "/api/v1/environments", &listed)
	for i := range listed.Items {
		e := &listed.Items[i]
		f.checkStatus(e, statuses[e.Name])
		f.checkMessages(e, statuses[e.Name])
		f.checkMetrics(e, metrics)
	}
}

// checkStatus compares the status of a commit with what is true, and with what the API says.
func (f *outputFleet) checkStatus(e *query.Environment, s decide.Status) {
	f.t.Helper()
	is := f.truth[e.Name].gate
	var want decide.Status
	switch {
	case e.Phase == decide.NoClusters && is.Expected == 0:
		want = decide.Status{State: decide.Pending, Description: "Waits: no cluster is expected"}
	case e.Phase == decide.Applying && is.Failed == 0:
		want = decide.Status{State: decide.Pending, Description: fmt.Sprintf("Applying %d/%d", is.Reached, is.Expected)}
	case e.Phase == decide.Good && is.Reached == is.Expected:
		want = decide.Status{State: decide.Success, Description: "Deployed"}
	case e.Phase == decide.Failed && is.Failed > 0:
		want = decide.Status{State: decide.Failure, Description: fmt.Sprintf("Failed: %s fails at %s: crash loop", f.truth[e.Name].rejected[0], dev1[:7])}
		if !strings.Contains(e.Reason, f.truth[e.Name].rejected[0]) {
			f.t.Errorf("%s: the status is %+v, and the reason %q", e.Name, s, e.Reason)
		}
	case e.Phase == decide.Unproven && is.Offline > 0 && is.Reached+is.Offline == is.Expected: // a silent cluster changes no status
	default:
		f.t.Errorf("%s: the phase is %s, and of the clusters %+v", e.Name, e.Phase, is)
	}
	if s != want {
		f.t.Errorf("%s: the status is %+v, want %+v", e.Name, s, want)
	}
}

// checkMessages wants one message for a commit that failed, with the words of its status, or that is deployed.
func (f *outputFleet) checkMessages(e *query.Environment, s decide.Status) {
	f.t.Helper()
	steps, err := f.ledger.Steps(f.t.Context(), ledger.StepQuery{Subject: controlPlane, Environment: e.Name})
	f.must(err)
	told := map[message.Kind]map[string]bool{}
	for _, event := range notify.Events(steps, steps) {
		if told[event.Kind] == nil {
			told[event.Kind] = map[string]bool{}
		}
		told[event.Kind][event.ID+event.Reason] = true
		if event.Kind == message.Failed && "Failed: "+event.Reason != s.Description {
			f.t.Errorf("%s: the message says %q, and the status %q", e.Name, event.Reason, s.Description)
		}
	}
	for kind, wanted := range map[message.Kind]bool{message.Failed: e.Phase == decide.Failed, message.Done: e.Phase == decide.Good} {
		if n := len(told[kind]); wanted && n != 1 || !wanted && n > 0 {
			f.t.Errorf("%s is %s: %d different messages say %s", e.Name, e.Phase, n, kind)
		}
	}
}

// checkMetrics compares the metrics with what the API says.
func (f *outputFleet) checkMetrics(e *query.Environment, metrics map[string]float64) {
	f.t.Helper()
	want := map[string]int{"kalypso_promotion_phase " + string(e.Phase): 1}
	for _, state := range query.MapStates() {
		want["kalypso_clusters "+string(state)] = e.Health.Clusters.Of(state)
	}
	is := f.truth[e.Name].gate
	for state, n := range map[comply.State]int{
		comply.Reached: is.Reached, comply.Behind: is.Behind, comply.Broken: is.Failed, comply.Offline: is.Offline, comply.Missing: is.Missing,
	} {
		want["kalypso_reconcilers "+string(state)] = n
	}
	for name, n := range want {
		metric, value, _ := strings.Cut(name, " ")
		if got, ok := metrics[metric+" "+e.Name+" "+value]; !ok || got != float64(n) {
			f.t.Errorf("%s: the metric %s is %v, want %d", e.Name, name, got, n)
		}
	}
}

// gather returns the metrics of environments, by name, environment and state or phase.
func (f *outputFleet) gather(registry *prometheus.Registry) map[string]float64 {
	f.t.Helper()
	families, err := registry.Gather()
	f.must(err)
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			values[family.GetName()+" "+labels["environment"]+" "+labels["state"]+labels["phase"]] = m.GetGauge().GetValue()
		}
	}
	return values
}
