package fleet

import (
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// checkLevels are the levels that a rule can have.
var checkLevels = []v1alpha1.CheckLevel{v1alpha1.CheckOff, v1alpha1.CheckInform, v1alpha1.CheckWarn, v1alpha1.CheckRefuse}

// checkCheckPolicy looks at what can be known without asking the rules: whether an expression is one shows when it is compiled.
func checkCheckPolicy(d *decoder, root *yaml.Node, p *v1alpha1.CheckPolicy) {
	for _, rule := range slices.Sorted(maps.Keys(p.Spec.Levels)) {
		oneOf(d, root, p.Spec.Levels[rule], checkLevels, "spec", "levels", rule)
	}
	rules := lookup(root, "spec", "rules")
	names := map[string]bool{}
	for i, rule := range p.Spec.Rules {
		if rules == nil || i >= len(rules.Content) {
			return
		}
		n := rules.Content[i]
		d.within("spec.rules["+strconv.Itoa(i)+"]", func() {
			d.require(n, "name")
			d.name(n, dnsLabel, "name")
			d.require(n, "expression")
			oneOf(d, n, rule.Level, checkLevels, "level")
			if names[rule.Name] {
				d.fail(KindDuplicate, n, "give each rule a name of its own", "the rule %s is there twice", quoteShort(rule.Name))
			}
			names[rule.Name] = true
		})
	}
}
