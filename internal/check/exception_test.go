package check

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// An exception is for findings of its rule at its object and field, until the end of its last day. Ended ones count no more, and say so.
func TestExceptions(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: web, image: web}, {name: two, image: two}]}\n"
	const first, second = "spec.containers[0].image", "spec.containers[1].image"
	last := time.Date(2027, 3, 31, 23, 59, 59, 0, time.UTC)
	for name, test := range map[string]struct {
		e        Exception
		at       time.Time
		excepted []string
		ended    bool
	}{
		"an object":           {Exception{Object: "Pod shop/web"}, last, []string{first, second}, false},
		"a field":             {Exception{Object: "Pod shop/*", Key: second}, last, []string{second}, false},
		"a file":              {Exception{File: "a/*.yaml"}, last, []string{first, second}, false},
		"another file":        {Exception{File: "*.yaml", Object: "Pod shop/web"}, last, nil, false},
		"another object":      {Exception{Object: "Pod shop/other"}, last, nil, false},
		"after the last day":  {Exception{Object: "Pod shop/web"}, last.Add(time.Second), nil, true},
		"without commits":     {Exception{Object: "Pod shop/web"}, time.Time{}, []string{first, second}, false},
		"without any pattern": {Exception{}, last, nil, false},
	} {
		test.e.Rule, test.e.Reason, test.e.Until = RuleLatestTag, "why", "2027-03-31"
		p := Policy{Levels: map[string]Level{RuleLatestTag: Refuse}, Exceptions: []Exception{test.e}}.At(test.at)
		c, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		ended := false
		for _, f := range c.Check(maps.All(map[string][]byte{"a/web.yaml": []byte(pod)})) {
			switch {
			case f.Exception == "why (until 2027-03-31)" && f.Level == Inform:
				got = append(got, f.Path)
			case f.Rule == RuleLatestTag && f.Level != Refuse, f.Rule != RuleLatestTag && f.Exception != "":
				t.Errorf("%s: %v", name, f)
			}
			ended = ended || strings.Contains(f.Message, "its exception ended on 2027-03-31")
		}
		if strings.Join(got, " ") != strings.Join(test.excepted, " ") || ended != test.ended {
			t.Errorf("%s: excepted %q, ended %v", name, got, ended)
		}
	}
}

// A finding with an exception is counted apart, and shown with its reason.
func TestExceptionsAreCounted(t *testing.T) {
	findings := []Finding{{Rule: "a", Level: Inform, Message: "x"}, {Rule: "b", Level: Inform, Message: "y", Exception: "why (until 2027-03-31)"}}
	if got := Summary(findings); got != "1 notice, 1 excepted" {
		t.Errorf("got %q", got)
	}
	if got := Markdown(findings); !strings.Contains(got, "excepted: why") {
		t.Errorf("got %q", got)
	}
}
