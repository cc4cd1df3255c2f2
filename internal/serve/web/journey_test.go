package web

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// nine is when the journeys of the tests begin.
var nine = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// changed is a step to a state, minutes after nine.
func changed(place string, minutes int, state decide.State) ledger.Step {
	detail, _ := json.Marshal(promote.Detail{Phase: state})
	return ledger.Step{
		PromotionID: ledger.PromotionID{Environment: place}, Kind: string(promote.StateChanged),
		At: nine.Add(time.Duration(minutes) * time.Minute), Detail: detail,
	}
}

// labels are the labels of rows.
func labels(j *journey) []string {
	var texts []string
	for _, r := range j.Rows {
		texts = append(texts, strings.Trim(r.Environment+"/"+r.Ring, "/")+": "+r.Label())
	}
	return texts
}

// TestJourneyOfRings: each ring has a row; that of a ring in batches shows the worst of them, and a ring that is
// not reached yet nothing.
func TestJourneyOfRings(t *testing.T) {
	j := journeyOf([]query.PromotionStage{{
		Environment: "prod", Current: true, Phase: "applying",
		Steps: []ledger.Step{changed("prod", 0, decide.Proposed), changed("prod", 10, decide.Applying)},
		Rings: []query.Ring{
			{Name: "canary", Phase: decide.Applying, Source: "a1"}, {Name: "rest", Phase: decide.Good, Source: "b2"},
		},
		RingSteps: []ledger.Step{
			changed("prod/canary.01", 10, decide.Applying), changed("prod/canary.01", 20, decide.Good),
			changed("prod/canary.02", 30, decide.Applying), changed("prod/canary.02", 35, decide.Failed), changed("prod/canary.02", 40, decide.Good),
		},
	}}, nine.Add(50*time.Minute))
	want := []string{
		"prod: proposed, 20 Nov 09:00:00, for 10 min; applying, 20 Nov 09:10:00",
		"prod/canary: applying, 20 Nov 09:10:00, for 10 min; good, 20 Nov 09:20:00, for 10 min; " +
			"applying, 20 Nov 09:30:00, for 5 min; failed, 20 Nov 09:35:00, for 5 min; good, 20 Nov 09:40:00",
		"prod/rest: nothing yet",
	}
	if got := labels(j); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if rest := j.Rows[2]; rest.State != "notYet" {
		t.Errorf("the ring that has another commit is %v, want notYet", rest.State)
	}
}

// TestJourneyEndsWhereItIsNotKnown: of a commit that left the environment, the end of its last state is unknown, so
// it is not drawn on.
func TestJourneyEndsWhereItIsNotKnown(t *testing.T) {
	steps := []ledger.Step{changed("dev", 0, decide.Applying), changed("dev", 60, decide.Good)}
	for current, width := range map[bool]bool{true: true, false: false} {
		j := journeyOf([]query.PromotionStage{{Environment: "dev", Current: current, Steps: steps}}, nine.Add(100*time.Hour))
		last := j.Rows[0].Spans[1]
		if drawn := last.Width > minSpan; drawn != width {
			t.Errorf("current %t: the last state is %.1f %% wide", current, last.Width)
		}
		if end := last.From + last.Width; end > 100 {
			t.Errorf("current %t: it ends at %.1f %%", current, end)
		}
	}
}

// TestJourneyWithoutChanges: nothing is drawn before something happened.
func TestJourneyWithoutChanges(t *testing.T) {
	if j := journeyOf([]query.PromotionStage{{Environment: "dev"}}, nine); j != nil {
		t.Errorf("got %+v", j)
	}
}

// TestTicks: a few labels at round times, in order, for every length from seconds to years.
func TestTicks(t *testing.T) {
	for length := time.Second; length < 5*365*24*time.Hour; length = length * 7 / 4 {
		from := nine.Add(17 * time.Second)
		ticks := ticksOf(from, from.Add(length))
		if len(ticks) > maxTicks+1 || len(ticks) == 0 && length > 2*time.Second {
			t.Errorf("%v: %d ticks", length, len(ticks))
		}
		for i := 1; i < len(ticks); i++ {
			if ticks[i].X <= ticks[i-1].X || ticks[i].Text == ticks[i-1].Text {
				t.Errorf("%v: %v after %v", length, ticks[i], ticks[i-1])
			}
		}
	}
}
