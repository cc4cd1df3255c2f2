package output

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestVersionsOfATarget(t *testing.T) {
	running := func(version string, state ledger.State) []query.VersionCount {
		return []query.VersionCount{{Version: version, State: state, Reconcilers: 2}}
	}
	for want, v := range map[string]*query.TargetVersions{
		"-":                             nil,
		"no version known":              {},
		"1.4.0 on 2":                    {Running: running("1.4.0", ledger.StateReady)},
		"1.4.0 on 2, 1.5.0 wanted":      {Running: running("1.4.0", ledger.StateReady), Wanted: "1.5.0"},
		"unknown version on 2 (failed)": {Running: running("", ledger.StateFailed)},
	} {
		if got := versions(v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
