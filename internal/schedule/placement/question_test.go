package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestQuestionsAreAboutTheCandidatesOfEachExternalPolicy(t *testing.T) {
	s := parseFleet(t, []byte(`
targets:
- {name: shop/web, labels: {tier: front}}
- {name: shop/db}
clusterTypes:
- {name: small}
- {name: large, labels: {size: large}}
policies:
- {name: plain}
- name: cheapest
  schedulerName: cost
  deploymentTargetSelector: {labelSelector: {matchLabels: {tier: front}}}
- name: extended
  extenders: [{name: carbon, weight: 50}, {name: licences}]
  clusterTypeSelector: {labelSelector: {matchLabels: {size: large}}}
- {name: explicit, schedulerName: default}
- name: nothing
  schedulerName: cost
  clusterTypeSelector: {labelSelector: {matchLabels: {size: none}}}
`))
	questions := Questions(s, Options{})
	want := `cheapest asks cost: shop-web on [large small]
extended asks the extender carbon: shop-db on [large], shop-web on [large]
extended asks the extender licences: shop-db on [large], shop-web on [large]
`
	if diff := cmp.Diff(questionsText(questions), want); diff != "" {
		t.Errorf("questions (-got +want):\n%s", diff)
	}
	for pair, candidate := range map[Pair]bool{
		{"shop-web", "large"}: true, {"shop-web", "small"}: true, {"shop-db", "large"}: false, {"shop-web", "huge"}: false,
	} {
		if got := questions[0].Candidate(pair); got != candidate {
			t.Errorf("%v is a candidate of the first question: %v", pair, got)
		}
	}
	if q := Questions(&fleet.Snapshot{Policies: s.Policies[:1]}, Options{}); q != nil {
		t.Errorf("a policy of the default scheduler has the questions %v", q)
	}
}

func questionsText(questions []Question) string {
	var b strings.Builder
	for _, q := range questions {
		whom := q.Scheduler
		if q.Extender {
			whom = "the extender " + whom
		}
		var targets []string
		for _, target := range q.Targets {
			targets = append(targets, fmt.Sprintf("%s on %v", target.Name, target.Candidates))
		}
		fmt.Fprintf(&b, "%s asks %s: %s\n", q.Policy.Name, whom, strings.Join(targets, ", "))
	}
	return b.String()
}
