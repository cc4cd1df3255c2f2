package check

import (
	"maps"
	"strings"
	"testing"
)

const ruled = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec: {replicas: 2, template: {spec: {containers: [{name: a, image: 'example.com/a:1', resources: {limits: {memory: 1Gi}}}, {name: b}]}}}
`

// Expressions that policy authors write for Kubernetes work: optionals, macros with two variables, and the libraries.
func TestExpressionsOfKubernetes(t *testing.T) {
	for expression, want := range map[string]bool{
		"object.metadata.?labels[?'team'].orValue('') == ''": true,
		"object.metadata.?labels.app.hasValue()":             true,
		"object.spec.template.spec.containers.all(c, c.?resources.limits.memory.optMap(m, quantity(m).isLessThan(quantity('2Gi'))).orValue(true))": true,
		"object.metadata.labels.all(k, v, k == 'app' && v == 'web')":                                                                               true,
		"object.spec.template.spec.containers.exists(i, c, i == 1 && c.name == 'b')":                                                               true,
		"url('https://example.com/x').getHost() == 'example.com' && isURL('x:y')":                                                                  true,
		"ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.0.0.1')":                                                                true,
		"'a1b2'.find('[0-9]') == '1' && 'a1b2'.findAll('[0-9]').size() == 2":                                                                       true,
		"[1, 2, 3].isSorted() && [1, 2].sum() == 3 && ['a', 'b'].indexOf('b') == 1 && [2, 1].sort() == [1, 2]":                                     true,
		"!format.dns1123Label().validate('web').hasValue()":                                                                                        true,
		"semver('1.2.3').isGreaterThan(semver('1.2.0'))":                                                                                           true,
		"object.spec.replicas > 2.5": false,
		"sets.contains(['a', 'b'], ['a']) && 'x'.upperAscii() == 'X' && ['a'].join(',') == 'a'": true,
	} {
		c, err := New(Policy{Rules: []Rule{{Name: "own", Expression: expression}}})
		if err != nil {
			t.Fatal(err)
		}
		found := own(c)
		if ok := len(found) == 0; ok != want {
			t.Errorf("%s: got %v", expression, found)
		}
	}
}

func own(c *Checker) []string {
	var found []string
	for _, f := range c.Check(maps.All(map[string][]byte{"web.yaml": []byte(ruled)})) {
		if f.Rule == "own" {
			found = append(found, f.Message)
		}
	}
	return found
}

// Variables can refer to earlier ones, fail only when they are used, and messages are texts of expressions.
func TestVariablesAndMessages(t *testing.T) {
	containers := Variable{"containers", "object.spec.template.spec.containers"}
	for name, tc := range map[string]struct {
		rule Rule
		want string
	}{
		"variables":       {Rule{Variables: []Variable{containers, {"names", "variables.containers.map(c, c.name)"}}, Expression: "variables.names == ['a', 'b']"}, ""},
		"in a macro":      {Rule{Variables: []Variable{containers}, Expression: "['a'].all(n, variables.containers.exists(c, c.name == n))"}, ""},
		"not used":        {Rule{Variables: []Variable{{"broken", "object.spec.nothing.x"}}, Expression: "true || variables.broken"}, ""},
		"fails":           {Rule{Variables: []Variable{{"broken", "object.spec.nothing.x"}}, Expression: "variables.broken == 1"}, "the rule cannot be evaluated: no such key: nothing"},
		"message":         {Rule{Variables: []Variable{containers}, Expression: "false", Message: "other", MessageExpression: "'has ' + string(variables.containers.size())"}, "has 2"},
		"no message":      {Rule{Expression: "false", Message: "other", MessageExpression: "object.nothing"}, "other"},
		"later variable":  {Rule{Variables: []Variable{{"a", "variables.b"}, {"b", "1"}}, Expression: "true"}, `the rule cannot be used: the variable "a": column 1: undeclared reference to 'variables'`},
		"twice":           {Rule{Variables: []Variable{{"a", "1"}, {"a", "1"}}, Expression: "true"}, `the variable "a" is there twice`},
		"bad name":        {Rule{Variables: []Variable{{"a-b", "1"}}, Expression: "true"}, `the variable "a-b" has no valid name`},
		"message, a list": {Rule{Expression: "true", MessageExpression: "[1]"}, "its messageExpression: the result of the expression is list(int), must be a string"},
		"unknown":         {Rule{Expression: "variables.none"}, "undeclared reference to 'variables'"},
		"authorizer":      {Rule{Expression: "authorizer.group('').resource('pods').check('get').allowed()"}, "undeclared reference to 'authorizer'"},
	} {
		tc.rule.Name = "own"
		c, err := New(Policy{Rules: []Rule{tc.rule}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(own(c), "; "); got != tc.want && (tc.want == "" || !strings.Contains(got, tc.want)) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// A rule of a few kilobytes whose values would have gigabytes ends before it takes them.
func TestARuleThatNeedsTooMuchMemoryEnds(t *testing.T) {
	thousand := "[" + strings.Repeat("0,", 999) + "0]"
	c, err := New(Policy{Rules: []Rule{{Name: "own", Expression: "[" + thousand + "]" + strings.Repeat(".map(x, x + x)", 40) + "[0].map(x, 1).size() == 1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if found := own(c); len(found) != 1 || !strings.Contains(found[0], "its values are too large") {
		t.Errorf("got %v", found)
	}
}
