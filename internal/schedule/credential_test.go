package schedule

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// The password in the URL of JDBC, which comes first, is hidden, but not a finding.
const withToken = `apiVersion: v1
kind: ConfigMap
metadata:
  name: token
  labels: {platform-config: "true"}
data:
  JDBC: "postgres://user:pa55w0rd@db:5432/x"
  SECRET_TOKEN: "ghp_` + `0123456789abcdefghijABCDEFGHIJ012345"
`

// What is held for a credential is a problem for "kalypso validate" too, and it names the key of the credential.
func TestValidateListsTheCredentialsThatAPlanHolds(t *testing.T) {
	s := helloFleet(t, map[string]string{"control-plane/dev/configs/token.yaml": withToken})
	isCredential := func(p fleet.Problem) bool { return p.Kind == fleet.KindCredential }
	_, planned := s.plan(t, "dev", "")
	v := Validate(s.unpublished(t, "dev"))
	if planned.Counts.Held != 10 || v.Held != 10 {
		t.Errorf("%d held in the plan, %d in the validation, want 10", planned.Counts.Held, v.Held)
	}
	inPlan := slices.DeleteFunc(planned.Problems, func(p fleet.Problem) bool { return !isCredential(p) })
	validated := slices.DeleteFunc(v.Problems, func(p fleet.Problem) bool { return !isCredential(p) })
	if diff := cmp.Diff(inPlan, validated); diff != "" || len(validated) != 10 {
		t.Fatalf("%d problems (-plan +validate):\n%s", len(validated), diff)
	}
	for _, p := range validated {
		if p.Message != "the value of SECRET_TOKEN looks like a credential (github-pat)" || p.Position.Line != 8 || p.Severity != fleet.SeverityError {
			t.Errorf("got %s: %s", p.Position, p.Message)
		}
	}
}
