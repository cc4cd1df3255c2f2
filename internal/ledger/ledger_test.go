package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestCleanPath(t *testing.T) {
	for in, want := range map[string]string{
		"": "", ".": "", "./": "", "/": "", "x": "x", "./x": "x", "x/": "x", "/x/y/": "x/y", ".//./x": "x", ".x": ".x", "x/.": "x/.",
	} {
		if got := ledger.CleanPath(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	for severity, want := range []ledger.State{"", ledger.StateReady, ledger.StateProgressing, ledger.StateSuspended, ledger.StateFailed, ""} {
		if got := hub.StateOf(severity); got != want {
			t.Errorf("%d: got %q, want %q", severity, got, want)
		}
		if got := want.Severity(); want != "" && got != severity {
			t.Errorf("%q: got %d, want %d", want, got, severity)
		}
	}
}

func TestPerform(t *testing.T) {
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	deployed := func(built, deployed, failed time.Duration) ledger.Deployment {
		d := ledger.Deployment{Version: ledger.Version{Built: start.Add(built)}}
		if deployed > 0 {
			d.Deployed = start.Add(deployed)
		}
		if failed > 0 {
			d.Failed = start.Add(failed)
		}
		return d
	}
	unknownBuild := ledger.Deployment{Deployed: start}
	for name, tc := range map[string]struct {
		deployments []ledger.Deployment
		incidents   []ledger.Incident
		want        ledger.Performance
	}{
		"nothing": {},
		"several": {
			deployments: []ledger.Deployment{
				deployed(0, 3*time.Hour, 0), deployed(0, time.Hour, 2*time.Hour), deployed(0, 2*time.Hour, 0), deployed(0, 0, time.Hour), unknownBuild,
			},
			incidents: []ledger.Incident{{Failed: start, Restored: start.Add(time.Minute)}, {Failed: start}},
			want: ledger.Performance{
				Deployments: 4, PerDay: 2, LeadTime: 2 * time.Hour, ChangeFailureRate: 0.4, TimeToRestore: time.Minute, OpenIncidents: 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ledger.Perform(tc.deployments, tc.incidents, 48*time.Hour)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
