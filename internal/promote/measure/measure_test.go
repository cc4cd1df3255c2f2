package measure_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/promote/measure"
)

func TestResponses(t *testing.T) {
	healthy := measure.Response{
		Status: 200, Header: map[string]string{"Content-Type": "application/json", "X-Version": "1.2"},
		Body: []byte(`{"ok": true, "errors": 3, "parts": [{"name": "db", "up": true}, {"name": "cache", "up": false}]}`),
	}
	for name, tc := range map[string]struct {
		expression, body, wrong string
		cut                     bool
	}{
		"the status":               {expression: "status == 200"},
		"a header":                 {expression: "headers['x-version'].startsWith('1.')"},
		"a header that is missing": {expression: "headers['x-other'] == 'a'", wrong: "no such key: x-other"},
		"JSON":                     {expression: "json.ok && json.errors < 5"},
		"a list":                   {expression: "json.parts.all(p, p.up)", wrong: "json.parts.all(p, p.up) is false"},
		"a field that is missing":  {expression: "json.fine", wrong: "no such key: fine"},
		"a field of another type":  {expression: "json.ok < 5", wrong: "no such overload"},
		"the result is no boolean": {expression: "json.errors", wrong: "is a double, and neither"},
		"the body":                 {expression: "body.matches('^pong$')", body: "pong"},
		"no JSON":                  {expression: "json.ok", body: "<html>", wrong: "the body is not JSON"},
		"no JSON that is needed":   {expression: "status == 200 || json.ok", body: "<html>"},
		"no body":                  {expression: "json.ok", body: " ", wrong: "the body is not JSON"},
		"a body that is too large": {expression: "json.ok", cut: true, wrong: "larger than"},
		"its size does not matter": {expression: "status < 300", cut: true},
		"it costs too much": {
			expression: "json.all(a, json.all(b, json.all(c, json.all(d, a + b + c + d < 0 || true))))",
			body:       "[" + strings.Repeat("1,", 99) + "1]", wrong: "takes too long",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := measure.ParseHTTP(tc.expression)
			if err != nil {
				t.Fatal(err)
			}
			r := healthy
			r.Cut = tc.cut
			if tc.body != "" {
				r.Body = []byte(tc.body)
			}
			if got := fmt.Sprint(e.Check(r)); (tc.wrong == "") != (got == "<nil>") || !strings.Contains(got, tc.wrong) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestSamples(t *testing.T) {
	one := []measure.Sample{{Value: 0.004, Labels: map[string]string{"job": "shop"}}}
	two := append(one, measure.Sample{Value: 0.2, Labels: map[string]string{"job": "web"}})
	base := 0.003
	for name, tc := range map[string]struct {
		expression, value, wrong string
		samples                  []measure.Sample
		baseline                 *measure.Comparison
	}{
		"it is low":                      {expression: "result < 0.01", samples: one, value: "0.004"},
		"it is high":                     {expression: "result < 0.001", samples: one, value: "0.004", wrong: "result < 0.001 is false"},
		"an integer":                     {expression: "result < 1", samples: one, value: "0.004"},
		"no data":                        {expression: "result < 1", wrong: "the answer is empty"},
		"no data, and nothing is needed": {expression: "true", wrong: "the answer is empty"},
		"no data, as a list":             {expression: "results.all(r, r.value < 1)", wrong: "the answer is empty"},
		"not a number":                   {expression: "!(result > 1)", samples: []measure.Sample{{Value: math.NaN()}}, value: "NaN", wrong: "no data to calculate"},
		"infinite":                       {expression: "result < 1", samples: []measure.Sample{{Value: math.Inf(1)}}, value: "+Inf", wrong: "is false"},
		"several":                        {expression: "result < 1", samples: two, value: "0.004, 0.2", wrong: "the answer has 2 values"},
		"several, as a list":             {expression: "results.all(r, r.value < 1 && r.labels.job != '')", samples: two, value: "0.004, 0.2"},
		"one of several is high":         {expression: "results.all(r, r.value < 0.1)", samples: two, value: "0.004, 0.2", wrong: "is false"},
		"not worse than before":          {expression: "result <= baseline * 1.5", samples: one, value: "0.004", baseline: &measure.Comparison{Value: &base}},
		"worse than before":              {expression: "result <= baseline * 1.1", samples: one, value: "0.004", baseline: &measure.Comparison{Value: &base}, wrong: "is false"},
		"nothing to compare with":        {expression: "result <= baseline", samples: one, value: "0.004", baseline: &measure.Comparison{Missing: "it is the first"}, wrong: "there is no baseline, because it is the first"},
		"the first may pass":             {expression: "!hasBaseline || result <= baseline", samples: one, value: "0.004", baseline: &measure.Comparison{Missing: "it is the first"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := measure.ParsePrometheus(tc.expression, tc.baseline != nil)
			if err != nil {
				t.Fatal(err)
			}
			evidence, err := e.CheckSamples(tc.samples, tc.baseline)
			if got := fmt.Sprint(err); (tc.wrong == "") != (err == nil) || !strings.Contains(got, tc.wrong) || evidence.Value != tc.value {
				t.Errorf("got %q, %s", evidence.Value, got)
			}
		})
	}
}

func TestQueries(t *testing.T) {
	values := measure.Placeholders{Commit: "3f2a9c1", Environment: "prod", Ring: "canary", Revision: "77aa"}
	for text, want := range map[string]string{
		`errors{commit="{{.Commit}}", env=~"{{ .Environment }}.*"}`: `errors{commit="3f2a9c1", env=~"prod.*"}`,
		`a{r="{{.Ring}}"} / b{r="{{.Revision}}"}`:                   `a{r="canary"} / b{r="77aa"}`,
		`sum(errors)`:           `sum(errors)`,
		`a{b="{{.Commits}}"}`:   "error: {{.Commits}} is not one of",
		`a{b="{{ printf "a"}}"`: `a{b="{{ printf "a"}}"`, // a string that PromQL itself refuses
	} {
		got, err := measure.Query(text, values)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s", text, got)
		}
	}
	if got, err := measure.Query(`a{b="{{.Commit}}"}`, measure.Placeholders{Environment: "prod"}); err == nil {
		t.Errorf("without a commit: %s", got)
	}
	for _, unsafe := range []string{`a"} or vector(0) #`, "a b", "A", "a\\", "-a", "a{"} {
		if got, err := measure.Query(`x{e="{{.Environment}}"}`, measure.Placeholders{Environment: unsafe}); err == nil {
			t.Errorf("%q became part of the query %q", unsafe, got)
		}
	}
}

func ExampleExpression_CheckSamples() {
	e, err := measure.ParsePrometheus("result <= 2.0 * baseline", true)
	if err != nil {
		panic(err)
	}
	before := 0.002
	evidence, err := e.CheckSamples([]measure.Sample{{Value: 0.005}}, &measure.Comparison{With: "commit 3f2a9c1", Value: &before})
	fmt.Println(evidence.Value, "compared with", evidence.Baseline)
	fmt.Println(err)
	// Output:
	// 0.005 compared with 0.002 of commit 3f2a9c1
	// result <= 2.0 * baseline is false
}
