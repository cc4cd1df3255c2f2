package comply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

func TestParseGateReportsInvalidValues(t *testing.T) {
	for _, require := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(-3), intstr.FromString("0%"), intstr.FromString("101%"), intstr.FromString("most")} {
		gate, err := comply.ParseGate(&v1alpha1.Gate{Require: &require})
		if err == nil || gate != (comply.Gate{}) {
			t.Errorf("require %v: got %+v and %v, want all of them and an error", require, gate, err)
		}
	}
	gate, err := comply.ParseGate(&v1alpha1.Gate{Offline: "maybe"})
	if err == nil || gate.Offline != v1alpha1.OfflineBlock {
		t.Errorf("offline maybe: got %q and %v, want the strictest and an error", gate.Offline, err)
	}
}
