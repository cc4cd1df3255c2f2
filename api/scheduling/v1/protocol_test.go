package v1_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
)

// request is a question about two targets.
func request(task schedulingv1.Task) *schedulingv1.Request {
	r := &schedulingv1.Request{
		Version: schedulingv1.Version, Task: task, Scheduler: "cost", Environment: "dev",
		Policy:       schedulingv1.Policy{Name: "cheapest", MaxClusterTypes: 1},
		ClusterTypes: []schedulingv1.ClusterType{{Name: "large", Labels: map[string]string{"price": "7"}}, {Name: "small"}},
		Targets: []schedulingv1.Target{
			{Name: "shop-db", Workload: "shop", Candidates: []string{"large"}},
			{Name: "shop-web", Workload: "shop", Candidates: []string{"large", "small"}, Previous: []string{"small"}},
		},
		Facts: json.RawMessage(`{"prices": {"large": 7}}`),
	}
	if err := r.Seal(); err != nil {
		panic(err)
	}
	return r
}

// Answers that are not used, and why. DIGEST is the digest of the request.
var refused = map[string]struct {
	task           schedulingv1.Task
	answer, reason string
}{
	"nothing":                    {schedulingv1.Schedule, ``, "it is empty"},
	"no JSON":                    {schedulingv1.Schedule, `Traceback (most recent call last)`, "not a response of the protocol"},
	"a list":                     {schedulingv1.Schedule, `[]`, "not a response of the protocol"},
	"cut off":                    {schedulingv1.Schedule, `{"version": 1, "decisions": [`, "not a response of the protocol"},
	"two":                        {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": []} {}`, "something after the response"},
	"another version":            {schedulingv1.Schedule, `{"version": 2, "digest": "DIGEST", "decisions": []}`, "version 2 of the protocol, want 1"},
	"to another request":         {schedulingv1.Schedule, `{"version": 1, "digest": "0", "decisions": []}`, "digest of another request"},
	"without decisions":          {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST"}`, "it has no decisions"},
	"decisions are null":         {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": null}`, "it has no decisions"},
	"a misspelled field":         {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decision": []}`, `unknown field "decision"`},
	"a scheduler that scores":    {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [], "scores": []}`, "a scheduler decides"},
	"an unknown target":          {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "x", "clusterType": "large"}]}`, `decisions[0]: "large" is not a candidate of target "x"`},
	"an unknown cluster type":    {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "shop-web", "clusterType": "x"}]}`, `"x" is not a candidate`},
	"another's candidate":        {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "shop-db", "clusterType": "small"}]}`, "not a candidate"},
	"a pair twice":               {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "shop-db", "clusterType": "large"}, {"target": "shop-db", "clusterType": "large"}]}`, "decisions[1]: target \"shop-db\" on \"large\" is there twice"},
	"too many cluster types":     {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "shop-web", "clusterType": "large"}, {"target": "shop-web", "clusterType": "small"}]}`, "more than 1 cluster types"},
	"a long reason":              {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "shop-db", "clusterType": "large", "reason": "` + strings.Repeat("x", 513) + `"}]}`, "the reason is longer"},
	"a long warning":             {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [], "warnings": ["` + strings.Repeat("x", 513) + `"]}`, "warnings[0] is longer"},
	"many warnings":              {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [], "warnings": [""` + strings.Repeat(`,""`, 20) + `]}`, "21 warnings"},
	"a huge answer":              {schedulingv1.Schedule, strings.Repeat(" ", schedulingv1.MaxResponseBytes+1), "it has more than"},
	"an extender that decides":   {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "scores": [], "decisions": []}`, "it has decisions"},
	"an extender with nothing":   {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST"}`, "neither refused nor scores"},
	"a refusal without a reason": {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "refused": [{"target": "shop-db", "clusterType": "large"}]}`, "there is no reason"},
	"a score of 101":             {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "scores": [{"target": "shop-db", "clusterType": "large", "score": 101}]}`, "101 is not from 0 to 100"},
	"a score that is a fraction": {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "scores": [{"target": "shop-db", "clusterType": "large", "score": 0.5}]}`, "not a response of the protocol"},
}

func TestAnswersThatBreakARuleAreNotUsed(t *testing.T) {
	for name, tc := range refused {
		to := request(tc.task)
		_, err := schedulingv1.ParseResponse([]byte(strings.ReplaceAll(tc.answer, "DIGEST", to.Digest)), to)
		if err == nil || !strings.Contains(err.Error(), tc.reason) {
			t.Errorf("%s: got %v, want %s", name, err, tc.reason)
		}
	}
}

// used are answers that keep every rule.
var used = map[string]struct {
	task   schedulingv1.Task
	answer string
}{
	"nothing is assigned":  {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": []}`},
	"one pair":             {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "decisions": [{"target": "shop-web", "clusterType": "small", "reason": "cheap", "score": 93}], "warnings": ["prices are of yesterday"]}`},
	"no answer":            {schedulingv1.Schedule, `{"version": 1, "digest": "DIGEST", "error": "no prices"}`},
	"everything passes":    {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "refused": []}`},
	"refused and a score":  {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "refused": [{"target": "shop-db", "clusterType": "large", "reason": "no licence"}], "scores": [{"target": "shop-web", "clusterType": "small", "score": 100}]}`},
	"refused and scored":   {schedulingv1.Extend, `{"version": 1, "digest": "DIGEST", "refused": [{"target": "shop-db", "clusterType": "large", "reason": "no licence"}], "scores": [{"target": "shop-db", "clusterType": "large", "score": 1}]}`},
	"spaces and a newline": {schedulingv1.Extend, "\n {\"version\": 1, \"digest\": \"DIGEST\", \"scores\": []}\n\n"},
}

func TestAnswersAreUsed(t *testing.T) {
	for name, tc := range used {
		to := request(tc.task)
		if _, err := schedulingv1.ParseResponse([]byte(strings.ReplaceAll(tc.answer, "DIGEST", to.Digest)), to); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemas checks that the schemas accept what this package accepts: authors of schedulers in other languages use them.
func TestSchemas(t *testing.T) {
	schema := func(name string) *jsonschema.Schema {
		s, err := jsonschema.NewCompiler().Compile("../../../docs/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	responses, requests := schema("schedulingresponse.json"), schema("schedulingrequest.json")
	validate := func(s *jsonschema.Schema, text string) error {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(document)
	}
	for name, tc := range used {
		if err := validate(responses, tc.answer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"a misspelled field", "a refusal without a reason", "a score of 101", "decisions are null", "a long reason", "many warnings"} {
		if err := validate(responses, refused[name].answer); err == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
	text, err := json.Marshal(request(schedulingv1.Schedule))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(requests, string(text)); err != nil {
		t.Errorf("a request: %v", err)
	}
}

func TestDigestIsOfEverythingButWhatWasPublished(t *testing.T) {
	first := request(schedulingv1.Schedule)
	for name, tc := range map[string]struct {
		change func(*schedulingv1.Request)
		same   bool
	}{
		"nothing":     {func(*schedulingv1.Request) {}, true},
		"previous":    {func(r *schedulingv1.Request) { r.Targets[1].Previous = []string{"large"} }, true},
		"a label":     {func(r *schedulingv1.Request) { r.ClusterTypes[0].Labels = map[string]string{"price": "8"} }, false},
		"a candidate": {func(r *schedulingv1.Request) { r.Targets[1].Candidates = []string{"large"} }, false},
		"facts":       {func(r *schedulingv1.Request) { r.Facts = json.RawMessage(`{}`) }, false},
		"the task":    {func(r *schedulingv1.Request) { r.Task = schedulingv1.Extend }, false},
	} {
		r := request(schedulingv1.Schedule)
		tc.change(r)
		if err := r.Seal(); err != nil {
			t.Fatal(err)
		}
		if (r.Digest == first.Digest) != tc.same || (r.Seed == first.Seed) != tc.same {
			t.Errorf("%s changes: digest %s and seed %d, at first %s and %d", name, r.Digest, r.Seed, first.Digest, first.Seed)
		}
	}
}

// An empty list is not an absent one.
func TestEncodingKeepsEmptyLists(t *testing.T) {
	to := request(schedulingv1.Schedule)
	text, err := json.Marshal(schedulingv1.Response{Version: 1, Digest: to.Digest, Decisions: []schedulingv1.Decision{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schedulingv1.ParseResponse(text, to); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func FuzzParseResponse(f *testing.F) {
	for _, task := range []schedulingv1.Task{schedulingv1.Schedule, schedulingv1.Extend} {
		to := request(task)
		for _, tc := range refused {
			f.Add([]byte(strings.ReplaceAll(tc.answer, "DIGEST", to.Digest)), task == schedulingv1.Extend)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, extend bool) {
		task := schedulingv1.Schedule
		if extend {
			task = schedulingv1.Extend
		}
		to := request(task)
		r, err := schedulingv1.ParseResponse(text, to)
		if err != nil || r.Error != "" {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := schedulingv1.ParseResponse(again, to); err != nil || fmt.Sprint(second) != fmt.Sprint(r) {
			t.Fatalf("%s is used, but not %s: %v", bytes.TrimSpace(text), again, err)
		}
	})
}
