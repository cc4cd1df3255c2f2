package schedule

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// A document of an environment that cannot be read is no reason to forget the environment.
func TestWithUnreadable(t *testing.T) {
	before := []string{"dev", "prod"}
	broken := func(name string) fleet.Problem {
		return fleet.Problem{Severity: fleet.SeverityError, Object: fleet.Ref{Kind: "Environment", Name: name}}
	}
	for _, tc := range []struct {
		problem fleet.Problem
		want    []string
	}{
		{fleet.Problem{Severity: fleet.SeverityWarning, Object: broken("prod").Object}, []string{"dev"}},
		{broken("prod"), []string{"dev", "prod"}},
		{broken("stage"), []string{"dev", "stage"}},
		{broken("dev"), []string{"dev"}},
		{broken(""), []string{"dev", "prod"}},
	} {
		if got := WithUnreadable([]string{"dev"}, []fleet.Problem{tc.problem}, before); !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %q, want %q", tc.problem, got, tc.want)
		}
	}
}
