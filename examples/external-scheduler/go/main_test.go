package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
)

func TestTargetsAreSpreadAndStay(t *testing.T) {
	request := &schedulingv1.Request{
		Version: schedulingv1.Version, Task: schedulingv1.Schedule,
		ClusterTypes: []schedulingv1.ClusterType{{Name: "a"}, {Name: "b"}},
		Targets: []schedulingv1.Target{
			{Name: "one", Candidates: []string{"a", "b"}},
			{Name: "three", Candidates: []string{"a", "b"}, Previous: []string{"a"}},
			{Name: "two", Candidates: []string{"a", "b"}},
		},
	}
	if err := request.Seal(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(bytes.NewReader(text), &out); err != nil {
		t.Fatal(err)
	}
	response, err := schedulingv1.ParseResponse(out.Bytes(), request)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range response.Decisions {
		got = append(got, d.Target+" on "+d.ClusterType)
	}
	if want := "one on a, three on a, two on b"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if err := run(strings.NewReader("no JSON"), &out); err == nil {
		t.Error("a request that is no JSON has no error")
	}
}
