package output

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestVersionsOfATarget(t *testing.T) {
	running := func(version string, state ledger.State) []query.VersionCount {
		return []query.VersionCount{{Version: version, State: state, Reconcilers: 2}}
	}
	for want, v := range map[string]*query.TargetVersions{
		"-":                        nil,
		"no version known":         {},
		"1.4.0 on 2":               {Running: running("1.4.0", ledger.StateReady)},
		"1.4.0 on 2, 1.5.0 wanted": {Running: running("1.4.0", ledger.StateReady), Wanted: "1.5.0"},
		"uninstalled, requested by ada": {
			Running: running("", ledger.StateReady), Pin: &deliver.PinnedTarget{Name: "a", Pin: tree.Pin{Uninstalled: true}, Request: tree.Request{By: "ada"}},
		},
		"pinned to 1111111, 1.4.0 on 2": {Running: running("1.4.0", ledger.StateReady), Pin: &deliver.PinnedTarget{Name: "a", Pin: tree.Pin{Revision: "1111111111111111111111111111111111111111"}}},
		"unknown version on 2 (failed)": {Running: running("", ledger.StateFailed)},
	} {
		if got := versions(v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
