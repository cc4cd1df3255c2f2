package main

import (
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/plane/planetest"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
)

func TestCommandHasTheAbilitiesOfTheTable(t *testing.T) {
	s := &session{
		client: &git.Client{}, drafter: &schedule.Drafter{Loader: &schedule.Loader{}, Schedulers: &external.Asker{}},
		request: schedule.Request{ControlPlane: "control-plane"},
	}
	promoter := &promote.Promoter{Checks: &verify.Runner{}, People: &forge.People{}}
	p := s.plane(&terminal.Terminal{Now: time.Now}, nil, nil, forge.Forges{}, promoter)
	planetest.Check(t, planetest.Command, p)
}
