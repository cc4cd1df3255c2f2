// Package planetest has the table of what the planes of each program can do. The tests of each program compare their
// own planes with it.
package planetest

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/plane"
)

// The programs.
const (
	Server   = "server"
	Operator = "operator"
	Command  = "command"
)

// row is an ability, with the programs whose planes have it.
type row struct {
	ability  plane.Ability
	programs []string
}

// table says which programs have an ability, if everything is configured. The reasons for what is missing:
//
//   - the operator runs in the clusters of others: it calls no programs, has no place for versions of applications,
//     and no list of users
//   - a command delivers applications with commands of their own, and publishes when asked to
var table = []row{
	{plane.Records, []string{Server, Operator, Command}},
	{plane.Promotes, []string{Server, Operator, Command}},
	{plane.Verifies, []string{Server, Operator, Command}},
	{plane.AsksSchedulers, []string{Server, Command}},
	{plane.ReadsReviews, []string{Server, Command}},
	{plane.VouchesForUsers, []string{Server}},
	{plane.PlansForks, []string{Server, Operator}},
	{plane.Publishes, []string{Server, Operator}},
	{plane.Delivers, []string{Server, Operator}},
	{plane.PublishesDeliveries, []string{Server}},
	{plane.Scans, []string{Server, Operator}},
	{plane.LooksUpDigests, []string{Server, Operator}},
}

// Check compares what a plane of a program can do with the table.
func Check(t *testing.T, program string, p *plane.Plane) {
	t.Helper()
	has := p.Abilities()
	for _, r := range table {
		if got, want := slices.Contains(has, r.ability), slices.Contains(r.programs, program); got != want {
			t.Errorf("%s %s: %t, want %t", program, r.ability, got, want)
		}
	}
	for _, ability := range has {
		if !slices.ContainsFunc(table, func(r row) bool { return r.ability == ability }) {
			t.Errorf("the table does not have %q", ability)
		}
	}
}
