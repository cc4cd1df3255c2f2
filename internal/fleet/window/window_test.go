package window

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Clocks in Berlin go from 2:00 to 3:00 on 2026-03-29, and from 3:00 back to 2:00 on 2026-10-25.
func TestWindowsFollowTheirTimeZone(t *testing.T) {
	for _, tc := range []struct {
		cron     string
		duration time.Duration
		at       string
		open     bool
	}{
		{"0 9 * * *", 8 * time.Hour, "2026-01-15T08:00:00Z", true},  // 9 in winter
		{"0 9 * * *", 8 * time.Hour, "2026-07-15T07:00:00Z", true},  // 9 in summer
		{"0 9 * * *", 8 * time.Hour, "2026-07-15T06:59:59Z", false}, // not yet
		{"0 9 * * *", 8 * time.Hour, "2026-07-15T15:00:00Z", false}, // the end is excluded
		{"30 2 * * *", time.Hour, "2026-03-29T01:45:00Z", false},    // 2:30 is skipped that night
		{"30 1 * * *", time.Hour, "2026-03-29T01:15:00Z", true},     // the window lasts one hour of real time
		{"0 22 * * 5", 10 * time.Hour, "2026-11-21T06:00:00Z", true},
		{"0 0 1 1 *", 366 * 24 * time.Hour, "2026-11-20T10:00:00Z", true},
		{"* * * * *", time.Second, "2026-11-20T10:00:01Z", false},
	} {
		w, err := Parse(v1alpha1.Window{Cron: tc.cron, Duration: metav1.Duration{Duration: tc.duration}, TimeZone: "Europe/Berlin"})
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		if open := w.Open(at); open != tc.open {
			t.Errorf("%q for %s at %s: open %v, want %v", tc.cron, tc.duration, tc.at, open, tc.open)
		}
	}
}

func TestTheNextOfSeveralWindows(t *testing.T) {
	var windows []Window
	for _, cron := range []string{"0 20 * * *", "0 14 * * *", "0 9 * * *"} {
		w, err := Parse(v1alpha1.Window{Cron: cron, Duration: metav1.Duration{Duration: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w)
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if open, next := Open(windows, noon); open || next.Hour() != 14 {
		t.Errorf("at noon: open %t, next %s", open, next)
	}
	if open, next := Open(windows, noon.Add(2*time.Hour)); !open || !next.IsZero() {
		t.Errorf("at 14: open %t, next %s", open, next)
	}
	if open, next := Open(nil, noon); open || !next.IsZero() {
		t.Errorf("without windows: open %t, next %s", open, next)
	}
}

// FuzzParse checks that any text is either rejected or gives a window that can be evaluated.
func FuzzParse(f *testing.F) {
	for _, cron := range []string{"0 9 * * 1-5", "*/15 * * * *", "0 0 29 2 *", "TZ=0 0 0 1 1", "CRON_TZ=UTC * * * * *", "@daily", "0-59/0 * * * *", "1,2,3 * ? * MON-FRI", "99999999999999999999 * * * *"} {
		f.Add(cron, "Europe/Berlin", int64(time.Hour))
	}
	f.Fuzz(func(t *testing.T, cron, zone string, duration int64) {
		w, err := Parse(v1alpha1.Window{Cron: cron, TimeZone: zone, Duration: metav1.Duration{Duration: time.Duration(duration)}})
		if err != nil {
			return
		}
		now := time.Date(2026, 11, 20, 10, 10, 0, 0, time.UTC)
		if next := w.Next(now); !next.IsZero() && !w.Open(next) {
			t.Errorf("%q in %q for %s is not open at its start %s", cron, zone, time.Duration(duration), next)
		}
	})
}
