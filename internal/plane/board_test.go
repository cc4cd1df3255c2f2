package plane

import (
	"errors"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const controlPlane = "https://forge.example.com/platform/control-plane"

const shop, cart = "https://forge.example.com/teams/shop#shop", "https://forge.example.com/teams/cart#cart"

func TestFailedRoundKeepsEarlierResults(t *testing.T) {
	var b Board
	found := &schedule.Outcome{Head: "1"}
	b.Scheduled(controlPlane, "dev", found, nil, time.Unix(1, 0))
	broken := errors.New("the forge does not answer")
	b.Scheduled(controlPlane, "dev", nil, broken, time.Unix(2, 0))
	if got := b.Outcome(controlPlane, "dev"); got != found {
		t.Errorf("the outcome is %v, want that of the round before", got)
	}
	dev := b.ControlPlanes()[0].Scheduling["dev"]
	if !errors.Is(dev.Err, broken) || dev.Outcome != found || !dev.At.Equal(time.Unix(2, 0)) {
		t.Errorf("shows %+v", dev)
	}
	b.Scheduled(controlPlane, "dev", found, nil, time.Unix(3, 0))
	if err := b.ControlPlanes()[0].Scheduling["dev"].Err; err != nil {
		t.Errorf("still shows %v", err)
	}
}

func TestUnreadableControlPlaneHasAReason(t *testing.T) {
	var b Board
	b.Promoted(controlPlane, &promote.Outcome{})
	before := b.ControlPlanes()[0]
	gone := errors.New("there is no such repository")
	b.Unread(controlPlane, gone)
	b.Promoted(controlPlane, &promote.Outcome{})
	if now := b.ControlPlanes()[0]; !errors.Is(now.Err, gone) || now.Promotion == nil || before.Err != nil {
		t.Errorf("shows %+v, want why it cannot be read beside what was known", now)
	}
	b.Environments(controlPlane, []string{"dev"})
	if err := b.ControlPlanes()[0].Err; err != nil {
		t.Errorf("still shows %v", err)
	}
}

func TestReturnedResultsDoNotChange(t *testing.T) {
	var b Board
	b.Scheduled(controlPlane, "dev", &schedule.Outcome{}, nil, time.Unix(1, 0))
	before := b.ControlPlanes()[0]
	b.Scheduled(controlPlane, "stage", &schedule.Outcome{}, nil, time.Unix(1, 0))
	b.Promoted(controlPlane, &promote.Outcome{})
	b.Environments(controlPlane, []string{"stage"})
	if len(before.Scheduling) != 1 || before.Promotion != nil || before.Scheduling["dev"] == nil {
		t.Errorf("changed to %+v", before)
	}
	after := b.ControlPlanes()[0]
	b.Scheduled(controlPlane, "dev", &schedule.Outcome{}, nil, time.Unix(2, 0)) // its last round ends after its removal
	if again := b.ControlPlanes()[0]; len(again.Scheduling) != 1 {
		t.Errorf("shows %+v, want nothing of dev any more", again)
	}
	if len(after.Scheduling) != 1 || after.Promotion == nil || after.Scheduling["stage"] == nil {
		t.Errorf("shows %+v, want stage and the promotion", after)
	}
}

func TestRegisteredApplications(t *testing.T) {
	var b Board
	round := func(workload string, at int64) query.Round {
		request := deliver.Request{Source: "https://forge.example.com/teams/" + workload, Workload: workload}
		return query.Round{ControlPlane: controlPlane, Request: request, At: time.Unix(at, 0)}
	}
	b.Delivered(round("shop", 1))
	before := b.ControlPlanes()[0]
	b.Delivered(round("cart", 1))
	if now, was := b.Delivered(round("shop", 2)); was == nil || now.LastRound.Equal(was.LastRound) || !now.Same(was) {
		t.Errorf("got %+v after %+v", now, was)
	}
	if all := b.ControlPlanes()[0].Applications; len(all) != 2 || all[0].Name != "cart" || all[1].Subject != shop {
		t.Errorf("shows %+v", all)
	}
	b.Registered(controlPlane, []string{cart})
	if all := b.ControlPlanes()[0].Applications; len(all) != 1 || all[0].Name != "cart" {
		t.Errorf("shows %+v", all)
	}
	if len(before.Applications) != 1 || before.Applications[0].LastRound.Unix() != 1 {
		t.Errorf("what was given out changed to %+v", before.Applications)
	}
}

func TestEmptyBoard(t *testing.T) {
	var b Board
	if b.Outcome(controlPlane, "dev") != nil || len(b.ControlPlanes()) != 0 {
		t.Error("something is known")
	}
}
