package operator

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// The status says how the pull requests of the control plane are planned. One that cannot be planned does not make the control plane fail.
func TestPlannedPullRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ControlPlane)
		pulls  PullRequests
		err    error
		want   string
		calls  int
	}{
		"none is open": {calls: 1},
		"some failed": {
			pulls: PullRequests{Planned: 3, NotPlanned: 1, Left: 2, Failed: []string{`pull request 7: fetch "https://u:pass-word@git.example.com/a": refused`}, Did: []string{"posted the plan of pull request 3"}},
			want:  `3 planned, 1 not planned, from forks, 2 waiting, 1 failed: pull request 7: fetch "https://git.example.com/a": refused`,
			calls: 1,
		},
		"the token may not read them": {err: errors.New("list the pull requests: denied"), want: "not planned: list the pull requests: denied", calls: 1},
		"not wanted":                  {change: func(p *v1alpha1.ControlPlane) { p.Spec.PlanPullRequests = v1alpha1.PlanNone }},
		"objects have none": {change: func(p *v1alpha1.ControlPlane) {
			p.Spec.Source = v1alpha1.ControlPlaneSource{Objects: &v1alpha1.ObjectsSource{Environment: "dev"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			plane := shopPlane()
			if tc.change != nil {
				tc.change(plane)
			}
			w := newWorld(t, botSecret(), plane)
			w.planes.pulls, w.planes.errs["pull requests"] = tc.pulls, tc.err
			p, _ := w.reconcile(t)
			if p.Status.PlannedPullRequests != tc.want || w.planes.planned != tc.calls {
				t.Errorf("got %q after %d calls, want %q after %d", p.Status.PlannedPullRequests, w.planes.planned, tc.want, tc.calls)
			}
			if c := p.Status.Conditions[0]; c.Type != v1alpha1.ConditionReady || c.Status != metav1.ConditionTrue {
				t.Errorf("the condition is %+v", c)
			}
			for _, did := range tc.pulls.Did {
				if got, want := <-w.events.Events, "Normal Planned "+did; got != want {
					t.Errorf("got the event %q, want %q", got, want)
				}
			}
		})
	}
}
