package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

func TestFormOfAConfigMap(t *testing.T) {
	s := helloFleet(t, nil)
	draft := s.draft(t, DraftRequest{Request: Request{Environment: "dev"}})
	list, err := draft.Form("", editing.Author{})
	if err != nil || len(list.ConfigMaps) == 0 || len(list.Fields) > 0 {
		t.Fatalf("got %+v, %v", list, err)
	}
	f, err := draft.Form("west-us-config", editing.Author{Name: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range f.Fields {
		text := fmt.Sprintf("%s=%q set=%v required=%v may=%v missing=%d %v", x.Key, x.Value, x.Set, x.Required, x.MayEdit, x.Missing, x.Rules)
		for _, o := range x.Over {
			text += fmt.Sprintf(" over %s %s", o.ConfigMap, o.Value)
		}
		for _, by := range x.By {
			text += " by " + by.ConfigMap
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{
		`DATABASE_URL="mysql://west:8806/db" set=true required=true may=true missing=0 [matches ^mysql://] over dev-config mysql://dev:3306/db`,
		`LOGGING="" set=false required=false may=true missing=0 []`,
		`REGION="West US" set=true required=true may=true missing=0 []`,
		`SOME_COMMON_ENVIRONMENT_VARIABLE="" set=false required=false may=true missing=0 []`,
	}, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"west-us-confg": "there is west-us-config"} {
		if _, err := draft.Form(name, editing.Author{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.Assignments == 0 || f.File == "" {
		t.Errorf("got %+v", f)
	}
}
