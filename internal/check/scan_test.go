package check

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// snapshot returns a snapshot with check policies: that of main first, then that of an environment.
func snapshot(t *testing.T, specs ...string) *fleet.Snapshot {
	t.Helper()
	s := &fleet.Snapshot{Environment: "dev"}
	for _, text := range specs {
		var o fleet.Object[v1alpha1.CheckPolicy]
		if err := yaml.UnmarshalStrict([]byte(text), &o.Value.Spec); err != nil {
			t.Fatal(err)
		}
		o.Ref = fleet.Ref{Kind: "CheckPolicy", Name: "p"}
		s.CheckPolicies = append(s.CheckPolicies, o)
	}
	return s
}

func TestScansOfPolicies(t *testing.T) {
	main := `
levels: {licenses: "off"}
scans:
- {name: vulnerabilities, what: images, command: {args: [trivy, "{reference}"]}, rescanAfter: 24h}
- {name: licenses, what: images, command: {args: [licenses]}, level: warn}
- {name: lint, what: charts, command: {args: [lint, "{path}"]}, level: inform}
`
	dev := `
levels: {vulnerabilities: warn}
scans:
- {name: lint, what: charts, command: {args: [lint, --strict, "{path}"], timeout: 2m, exitCodes: [2, 3]}}
`
	policy, problems := PolicyOf(snapshot(t, main, dev))
	if len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
	want := []Scan{
		{Name: "lint", What: Charts, Args: []string{"lint", "--strict", "{path}"}, Timeout: 2 * time.Minute, ExitCodes: []int{2, 3}, Level: Refuse},
		{Name: "vulnerabilities", What: Images, Args: []string{"trivy", "{reference}"}, RescanAfter: 24 * time.Hour, Level: Warn},
	}
	if diff := cmp.Diff(policy.Wanted(), want); diff != "" {
		t.Errorf("wanted (-got +want):\n%s", diff)
	}
	if _, err := New(policy); err != nil {
		t.Errorf("levels of scans: %v", err)
	}
}

// TestScansWithTakenNames checks that nothing passes if a scan is not run.
func TestScansWithTakenNames(t *testing.T) {
	for _, name := range []string{RulePrivileged, "owner"} {
		policy, problems := PolicyOf(snapshot(t, `
rules: [{name: owner, expression: "true"}]
`, `
scans: [{name: `+name+`, what: images, command: {args: [trivy]}}]
`))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "has the name of a rule") || len(policy.Scans) > 0 {
			t.Errorf("%s: %v, scans %v", name, problems, policy.Scans)
		}
		checker, err := New(policy)
		if err != nil {
			t.Fatal(err)
		}
		if Worst(checker.Check(maps.All[map[string][]byte](nil))) != Refuse {
			t.Errorf("%s: something passes", name)
		}
	}
}

func TestRedact(t *testing.T) {
	// Made up, and split so that secret scanners do not report this file.
	token := "ghp_" + "q7Zt3LmX9vBc2NkR8sWyD4fGh6JpE1uA0iTo"
	for text, want := range map[string]string{
		"CVE-2026-1 in openssl 3.0.1":              "CVE-2026-1 in openssl 3.0.1",
		"pulled with " + token + ", and " + token:  "pulled with ***, and ***",
		"Authorization: Bearer abc.def-ghi_jkl/==": "Authorization: Bearer ***",
		"basic authentication failed":              "basic authentication failed",
		"mysql://ann:p@ss@db:3306/shop is down":    "mysql://ann:***@db:3306/shop is down",
		"mysql://db:3306/shop has no ann@db":       "mysql://db:3306/shop has no ann@db",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
