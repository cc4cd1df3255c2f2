package schedule

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

func explain(t *testing.T, target, clusterType, key string) *Explanation {
	t.Helper()
	e, err := Explain(helloFleet(t, nil).unpublished(t, "dev"), Question{Target: target, ClusterType: clusterType, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExplainHasAPairForEachClusterType(t *testing.T) {
	e := explain(t, "hello-world-app/functional-test", "", "")
	assigned := map[string]bool{}
	for _, p := range e.Pairs {
		assigned[p.ClusterType] = p.Assigned
	}
	want := map[string]bool{"command-center": false, "drone": true, "large": false, "small": false}
	if diff := cmp.Diff(want, assigned); diff != "" {
		t.Errorf("assigned (-want +got):\n%s", diff)
	}
	if e.Target != "hello-world-app-functional-test" || e.Environment != "dev" {
		t.Errorf("got %q in %q", e.Target, e.Environment)
	}
}

// A round explains with what it has made, which is compared with the GitOps branch; a command drafts to explain.
func TestRoundsExplainLikeCommands(t *testing.T) {
	s := helloFleet(t, nil)
	command, round := s.unpublished(t, "dev"), s.draft(t, DraftRequest{Request: Request{Environment: "dev"}}).Outcome().Draft()
	for _, target := range command.Loaded.Snapshot.Targets {
		for _, ct := range command.Loaded.Snapshot.ClusterTypes {
			q := Question{Target: target.Name, ClusterType: ct.Name, Key: "*"}
			want, err := Explain(command, q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Explain(round, q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s on %s (-command +round):\n%s", target.Name, ct.Name, diff)
			}
		}
	}
	if (&Outcome{}).Draft() != nil {
		t.Error("an outcome without files has a draft")
	}
}

func TestExplainNamesTheNearestPolicyFirst(t *testing.T) {
	for _, p := range explain(t, "hello-world-app/functional-test", "", "").Pairs {
		if !slices.IsSortedFunc(p.Policies, func(a, b placement.PolicyReason) int { return len(a.Failed) - len(b.Failed) }) {
			t.Errorf("the policies of %s are not sorted by what fails", p.ClusterType)
		}
	}
}

func TestExplainShowsTheRequestedConfiguration(t *testing.T) {
	for _, tt := range []struct {
		key  string
		want []string
	}{
		{"DATABASE_URL", []string{"DATABASE_URL"}},
		{"LOGGING", []string{"LOGGING.format", "LOGGING.level"}},
		{"LOGGING.level", []string{"LOGGING.level"}},
		{"", nil},
		{"DATA", nil},
	} {
		pair := explain(t, "hello-world-app/functional-test", "drone", tt.key).Pairs[0]
		var got []string
		for _, k := range pair.Config {
			got = append(got, k.Path)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("keys for %q (-want +got):\n%s", tt.key, diff)
		}
		if unknown := tt.key == "DATA"; unknown != slices.Contains(pair.OtherKeys, "LOGGING") {
			t.Errorf("other keys for %q: got %v", tt.key, pair.OtherKeys)
		}
	}
}

func TestExplainSuggestsNamesForUnknownOnes(t *testing.T) {
	draft := helloFleet(t, nil).unpublished(t, "dev")
	for _, names := range [][2]string{{"unknown", ""}, {"nginx/dev", "unknown"}} {
		_, err := Explain(draft, Question{Target: names[0], ClusterType: names[1]})
		if err == nil || !strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: got error %v, want a suggestion", names, err)
		}
	}
}
