package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/schedule"
)

// TestJSONIsDescribed checks that the reference describes every field of the commands' JSON.
func TestJSONIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/json.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var describe func(of reflect.Type)
	describe = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" {
				continue
			}
			if name != "" && !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("docs/reference/json.md does not describe %s.%s, which is %q", of, f.Name, name)
			}
			describe(f.Type)
		}
	}
	for _, output := range []any{schedule.Report{}, schedule.Explanation{}, validationReport{}} {
		describe(reflect.TypeOf(output))
	}
	if len(seen) < 15 {
		t.Errorf("only %d types were seen", len(seen))
	}
}
