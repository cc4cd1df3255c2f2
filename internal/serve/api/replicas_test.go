package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// The answer has every server that lives, with its units, and marks the one that answers.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	var got api.Replicas
	if err := json.Unmarshal(w.get(api.Root+"/replicas").body, &got); err != nil {
		t.Fatal(err)
	}
	want := api.Replicas{Items: []api.Replica{
		{Name: "server-a", ID: "a", Answers: true, Units: []api.Unit{{Name: "chain", Number: 1}, {Name: "environment dev", Number: 1}}},
		{Name: "server-b", ID: "b", Units: []api.Unit{}},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(api.Replica{}, "Joined")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
