package setting

import (
	"net/url"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

func formOf(fields ...*field) *view {
	v := &view{Chosen: true, MaySet: true, Extra: &field{ID: "extra"}, words: []string{"app", "config", "set", "-e", "dev"}}
	for i, f := range fields {
		v.Fields = append(v.Fields, f.prepare(i))
	}
	return v
}

func numbered(key, was string) *field {
	return &field{Field: schemas.Field{Key: key, Types: []string{"integer"}}, Was: was, Set: was != ""}
}

func worded(key, was string) *field {
	return &field{Field: schemas.Field{Key: key, Types: []string{"string"}}, Was: was, Set: was != ""}
}

func TestOnlyChangedValuesAreSet(t *testing.T) {
	locked := worded("owner", "ada")
	locked.Locked = true
	level := &field{Field: schemas.Field{Key: "level", Allowed: []any{"debug", 2}}, Was: "2"}
	v := formOf(numbered("replicas", "2"), worded("version", "1.4"), worded("note", "a\nb"), locked, level)
	v.read(url.Values{
		"v:replicas": {"3"}, "was:replicas": {"2"}, "v:version": {"1.10"}, "was:version": {"1.4"},
		"v:note": {"a\r\nb"}, "was:note": {"a\r\nb"}, "v:owner": {"eve"}, "was:owner": {"ada"}, "v:level": {"debug"}, "was:level": {"2"},
		"extra": {"hosts"}, "extraValue": {"[a, b]"},
	})
	if v.wrong() || v.Changed() != 4 {
		t.Fatalf("got %d changes, wrong: %v", v.Changed(), v.wrong())
	}
	if v.changed[0].value != 3 || v.changed[1].value != "1.10" || v.changed[2].value != "debug" {
		t.Errorf("got %#v %#v %#v", v.changed[0].value, v.changed[1].value, v.changed[2].value)
	}
	if got := v.Command(); !strings.Contains(got, "replicas=3") || !strings.Contains(got, `'version="1.10"'`) || !strings.HasSuffix(got, "--pull-request") {
		t.Errorf("the command is %s", got)
	}
	seen := v.Seen()
	again := formOf(numbered("replicas", "2"))
	again.read(url.Values{"v:replicas": {"4"}, "was:replicas": {"2"}})
	if seen == again.Seen() {
		t.Error("another value has the same preview")
	}
}

func TestOnlyOwnValuesAreRemoved(t *testing.T) {
	own, from, locked, moved, both := numbered("replicas", "2"), numbered("port", "80"), worded("owner", "ada"), worded("note", "now"), worded("level", "info")
	for _, f := range []*field{own, locked, moved, both} {
		f.Own = true
	}
	locked.Locked = true
	v := formOf(own, from, locked, moved, both)
	before := v.Seen()
	given := url.Values{}
	for _, f := range v.Fields {
		given.Set("v:"+f.Key, f.Was)
		given.Set("was:"+f.Key, f.Was)
		given.Set("remove:"+f.Key, "1")
	}
	given.Set("v:note", "before")
	given.Set("was:note", "before")
	given.Set("v:level", "debug")
	v.read(given)
	if v.Changed() != 1 || !own.Remove || from.Remove || locked.Remove || v.Seen() == before {
		t.Errorf("%d changes: %+v", v.Changed(), v.changed)
	}
	if !strings.Contains(moved.Error, "has changed since") || !strings.Contains(both.Error, "not both") {
		t.Errorf("got %q and %q", moved.Error, both.Error)
	}
	if got := v.Command(); !strings.Contains(got, "--remove replicas --pull-request") {
		t.Errorf("the command is %s", got)
	}
}

func TestErrorsAreNextToTheirFieldAndKeepTheInput(t *testing.T) {
	v := formOf(numbered("replicas", "2"), worded("note", "now"), numbered("port", ""))
	v.read(url.Values{
		"v:replicas": {"a: ["}, "was:replicas": {"2"}, "v:note": {"mine"}, "was:note": {"before"}, "v:port": {" "}, "was:port": {""}, "extra": {"a..b"}, "extraValue": {"1"},
	})
	for i, want := range []string{"cannot be read as YAML", `Now it is "now"`, "Enter a value"} {
		if f := v.Fields[i]; !strings.Contains(f.Error, want) || f.Input == f.Was {
			t.Errorf("%s: %q, input %q", f.Key, f.Error, f.Input)
		}
	}
	if !strings.Contains(v.Extra.Error, "empty part") || v.Changed() != 0 || !v.wrong() {
		t.Errorf("got %q, %d changes", v.Extra.Error, v.Changed())
	}
	v = formOf(numbered("replicas", "2"))
	v.read(url.Values{"v:replicas": {"-1"}, "was:replicas": {"2"}})
	v.point([]fleet.Problem{{Message: "replicas: must be at least 0"}, {Message: "replicasets: other"}})
	if v.Fields[0].Error != "Replicas: must be at least 0." || len(v.Problems) != 1 || v.Note == "" {
		t.Errorf("got %q and %v", v.Fields[0].Error, v.Problems)
	}
}
