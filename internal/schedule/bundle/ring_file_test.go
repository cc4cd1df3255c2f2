package bundle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestTheFileWithRingsKeepsWindows checks that the file says when clusters may be changed, as they do, and refuses what does not fit together.
func TestTheFileWithRingsKeepsWindows(t *testing.T) {
	until := metav1.NewTime(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC))
	stages := []fleet.Stage{
		{Name: "canary", Ring: "canary", Clusters: []string{"a", "b"}},
		{Name: "canary.cluster-west", Ring: "canary", Clusters: []string{"west"}, Windows: []v1alpha1.Window{{Cron: "0 2 * * *", Duration: metav1.Duration{Duration: 3 * time.Hour}, TimeZone: "Europe/Berlin"}}},
		{Name: "others.cluster-lock", Ring: "others", Clusters: []string{"lock"}, Hold: &v1alpha1.Hold{Reason: "\"inventory\" <1>", Until: &until}},
	}
	file, err := decodeRings(encodeRings("prod", stages, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range file.Stages {
		got := fleet.Stage{Name: s.Name, Ring: fleet.RingOfStage(s.Name), Windows: s.Windows, Hold: s.Hold}
		for _, c := range s.Clusters {
			got.Clusters = append(got.Clusters, c.Name)
		}
		if diff := cmp.Diff(stages[i], got); diff != "" {
			t.Errorf("stage %d (-want +got):\n%s", i, diff)
		}
	}
	for _, wrong := range []fleet.Stage{
		{Name: "canary.cluster-west", Clusters: []string{"west"}},
		{Name: "canary.cluster-west", Clusters: []string{"east"}, Hold: stages[2].Hold},
		{Name: "canary.0", Clusters: []string{"west"}, Hold: stages[2].Hold},
		{Name: "canary.cluster-..", Clusters: []string{".."}, Hold: stages[2].Hold},
		{Name: "canary.cluster-west", Clusters: []string{"west"}, Windows: []v1alpha1.Window{{Cron: "nonsense"}}},
	} {
		if _, err := decodeRings(encodeRings("prod", []fleet.Stage{wrong}, nil, nil)); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}
