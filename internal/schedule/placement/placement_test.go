package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// Each case is a fleet and its decisions: "decisions" has what runs on each cluster type,
// "reasons" why the other pairs are not assigned, and "unused" the warnings about policies.
func TestCases(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		s := parseFleet(t, []byte(c.Text("fleet.yaml")))
		d := Decide(s, Options{})
		c.Golden(t, "decisions", decisions(s, d))
		c.Golden(t, "reasons", reasons(t, s, d))
		c.Golden(t, "unused", unusedText(d))
	})
}

// Each case of rules is a fleet with what is published, its decisions, the reasons of all pairs that a policy selects by
// labels, and the problems.
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/rules/*.txtar", func(t *testing.T, c casetest.Case) { decideCase(t, c) })
}

// decideCase decides the fleet of a case of rules, and compares with its golden files.
func decideCase(t *testing.T, c casetest.Case) *Decisions {
	t.Helper()
	s, o := parseCase(t, []byte(c.Text("fleet.yaml")))
	d := Decide(s, o)
	c.Golden(t, "decisions", decisions(s, d))
	c.Golden(t, "reasons", ruleReasons(t, s, d))
	var problems strings.Builder
	for _, p := range d.Problems() {
		fmt.Fprintf(&problems, "%s %s %s: %s\n  %s\n", p.Severity, p.Kind, p.Object, p.Message, p.Hint)
	}
	c.Golden(t, "problems", problems.String())
	return d
}

func ruleReasons(t *testing.T, s *fleet.Snapshot, d *Decisions) string {
	var b strings.Builder
	for _, target := range s.Targets {
		for _, ct := range s.ClusterTypes {
			e, err := d.Explain(target.Name, ct.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range e.Policies {
				text := p.Reason
				if p.Step != "" {
					text = string(p.Step) + ": " + p.Reason
				}
				if p.Step == StepSelectors || p.Selects && text == "" {
					continue
				}
				verb := "not on"
				if p.Selects {
					verb = "on"
				}
				fmt.Fprintf(&b, "%s %s %s by %s: %s\n", target, verb, ct.Name, p.Policy, text)
			}
		}
	}
	return b.String()
}

func decisions(s *fleet.Snapshot, d *Decisions) string {
	var b strings.Builder
	for _, ct := range s.ClusterTypes {
		fmt.Fprintf(&b, "%s\n", ct.Name)
		for _, a := range d.For(ct.Name) {
			fmt.Fprintf(&b, "  %s by %s", a.Target, strings.Join(a.Policies, ", "))
			if len(a.DependsOn) > 0 {
				fmt.Fprintf(&b, ", wave %d after %v", a.Wave, a.DependsOn)
			}
			if a.Held != nil {
				b.WriteString(", held: " + a.Held.Message)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func reasons(t *testing.T, s *fleet.Snapshot, d *Decisions) string {
	var b strings.Builder
	for _, ct := range s.ClusterTypes {
		for _, target := range s.Targets {
			e, err := d.Explain(target.Name, ct.Name)
			if err != nil {
				t.Fatal(err)
			}
			if e.Assigned {
				continue
			}
			fmt.Fprintf(&b, "%s not on %s\n", target, ct.Name)
			for _, p := range e.Policies {
				for _, r := range p.Failed {
					fmt.Fprintf(&b, "  %s: %s wants %s, has %s\n", p.Policy, r.Of, r.Want, r.Have)
				}
			}
		}
	}
	return b.String()
}

func unusedText(d *Decisions) string {
	var b strings.Builder
	for _, p := range d.Unused() {
		fmt.Fprintf(&b, "%s %s %s %s: %s\n  %s\n", p.Severity, p.Kind, p.Position, p.Object, p.Message, p.Hint)
	}
	return b.String()
}

func TestExplainSuggestsSimilarNames(t *testing.T) {
	d := Decide(parseFleet(t, []byte(`
targets:
- name: hello-world-app/functional-test
- name: hello-world-app/performance-test
- name: shop/web
clusterTypes:
- name: large
- name: small
`)), Options{})
	tests := []struct {
		target, clusterType, want string
	}{
		{
			"hello-world-app-functional-tset", "large",
			`no target "hello-world-app-functional-tset" in environment "dev": did you mean ` +
				`"hello-world-app-functional-test", "hello-world-app-performance-test" or "shop-web"?`,
		},
		{
			"shop/wbe", "large",
			`no target "shop/wbe" in environment "dev": did you mean ` +
				`"shop/web", "hello-world-app/functional-test" or "hello-world-app/performance-test"?`,
		},
		{
			"shop/web", "larg",
			`no cluster type "larg" in environment "dev": did you mean "large" or "small"?`,
		},
	}
	for _, test := range tests {
		_, err := d.Explain(test.target, test.clusterType)
		if diff := cmp.Diff(fmt.Sprint(err), test.want); diff != "" {
			t.Errorf("Explain(%q, %q) (-got +want):\n%s", test.target, test.clusterType, diff)
		}
	}
}

func TestEmptyEnvironment(t *testing.T) {
	d := Decide(&fleet.Snapshot{Environment: "dev"}, Options{})
	if d.For("large") != nil || d.Unused() != nil {
		t.Errorf("an empty environment has assignments %v and warnings %v", d.For("large"), d.Unused())
	}
	_, err := d.Explain("shop-web", "large")
	if got, want := fmt.Sprint(err), `no target "shop-web": environment "dev" has no targets`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A LabelSelector has no Gt and Lt, but parsed selectors do.
func TestGreaterAndLessCompareWholeNumbers(t *testing.T) {
	between, err := labels.Parse("nodes>5,nodes<10")
	if err != nil {
		t.Fatal(err)
	}
	s := parseFleet(t, []byte(`
targets: [{name: shop/web}]
clusterTypes:
- {name: big, labels: {nodes: "50"}}
- {name: mid, labels: {nodes: "7"}}
- {name: none}
- {name: words, labels: {nodes: many}}
policies: [{name: between}]
`))
	s.Policies[0].ClusterTypes = between
	d := Decide(s, Options{})
	if got, want := decisions(s, d), "big\nmid\n  shop/web by between\nnone\nwords\n"; got != want {
		t.Errorf("decisions:\n%s", cmp.Diff(got, want))
	}
	want := `shop/web not on big
  between: clusterType wants nodes < 10, has nodes=50
shop/web not on none
  between: clusterType wants nodes < 10, has no label nodes
  between: clusterType wants nodes > 5, has no label nodes
shop/web not on words
  between: clusterType wants nodes < 10, has nodes=many, which is not a whole number
  between: clusterType wants nodes > 5, has nodes=many, which is not a whole number
`
	if diff := cmp.Diff(reasons(t, s, d), want); diff != "" {
		t.Errorf("reasons (-got +want):\n%s", diff)
	}
}

func TestRowsAreShared(t *testing.T) {
	d := Decide(parseFleet(t, []byte(`
targets: [{name: shop/web}, {name: shop/db}]
clusterTypes: [{name: a}, {name: b}]
policies: [{name: everything}]
`)), Options{})
	if d.selected.rows[0] != d.selected.rows[1] {
		t.Error("cluster types that the same policies select have separate rows")
	}
	a, b := d.For("a"), d.For("b")
	if &a[0].Policies[0] != &b[1].Policies[0] {
		t.Error("equal policy lists are stored twice")
	}
}

// What is published stays where a filter of mode exclude cannot be evaluated; nothing is added.
func TestExcludeThatCannotBeEvaluated(t *testing.T) {
	s, o := parseCase(t, []byte(`
targets: [{name: shop/new}, {name: shop/old}]
clusterTypes:
- {name: cluster-type, labels: {size: many}}
- {name: pair, labels: {limit: many}}
policies:
- {name: everywhere}
- name: not-large
  mode: exclude
  clusterTypeSelector: {labelSelector: {matchLabels: {size: many}}}
  filters: [{expression: "int(clusterType.labels.size) > 3"}]
- name: not-long
  mode: exclude
  clusterTypeSelector: {labelSelector: {matchLabels: {limit: many}}}
  filters: [{expression: "target.name != '' && int(clusterType.labels.limit) > 3"}]
published:
  cluster-type/shop-old: [everywhere]
  pair/shop-old: [everywhere]
`))
	got := decisions(s, Decide(s, o))
	if want := "cluster-type\n  shop/old by everywhere\npair\n  shop/old by everywhere\n"; got != want {
		t.Errorf("decisions (-got +want):\n%s", cmp.Diff(got, want))
	}
}

// With ScheduleAnyway, a cluster type without the label is chosen last, whatever its points are.
func TestSoftSpreadPrefersTheLabel(t *testing.T) {
	s, o := parseCase(t, []byte(`
targets: [{name: shop/web}]
clusterTypes:
- {name: east-1, labels: {region: east}}
- {name: east-2, labels: {region: east}}
- {name: nowhere, labels: {good: "true"}}
policies:
- name: two
  maxClusterTypes: 2
  spread: [{key: region, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]
  preferences: [{weight: 10, clusterTypeSelector: {matchLabels: {good: "true"}}}]
`))
	got := decisions(s, Decide(s, o))
	if want := "east-1\n  shop/web by two\neast-2\n  shop/web by two\nnowhere\n"; got != want {
		t.Errorf("decisions (-got +want):\n%s", cmp.Diff(got, want))
	}
}

// A score of an extender beyond 0 to 100 counts as the nearest of these.
func TestExtenderScoresHaveLimits(t *testing.T) {
	s, o := parseCase(t, []byte(`
targets: [{name: shop/web}]
clusterTypes: [{name: excessive}, {name: good, labels: {good: "true"}}, {name: negative}]
policies:
- name: one
  maxClusterTypes: 1
  extenders: [{name: rating, weight: 10}]
  preferences: [{weight: 1, clusterTypeSelector: {matchLabels: {good: "true"}}}]
`))
	answer := func(excessive, good, negative int32) string {
		scores := map[Pair]int32{
			{Target: "shop-web", ClusterType: "excessive"}: excessive, {Target: "shop-web", ClusterType: "good"}: good,
			{Target: "shop-web", ClusterType: "negative"}: negative,
		}
		o.Answers = map[string]Answer{"one": {Extenders: map[string]Extension{"rating": {Scores: scores}}}}
		return decisions(s, Decide(s, o))
	}
	want := "excessive\ngood\n  shop/web by one\nnegative\n"
	if got := answer(1000, 100, -1000); got != want {
		t.Errorf("1000 is more than 100: decisions (-got +want):\n%s", cmp.Diff(got, want))
	}
	if got := answer(-1000, 0, -1000); got != want {
		t.Errorf("-1000 is less than 0: decisions (-got +want):\n%s", cmp.Diff(got, want))
	}
}
