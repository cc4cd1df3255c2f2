package main

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestAnnotations(t *testing.T) {
	for _, tt := range []struct {
		problem fleet.Problem
		want    string
	}{
		{
			fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindInvalidName, Message: "100% wrong\n::error::forged",
				Position: fleet.Position{Source: "dev", File: "a,b:c.yaml", Line: 3}, Hint: "mend it",
			},
			"::error file=a%2Cb%3Ac.yaml,line=3,title=invalid-name::100%25 wrong%0A::error::forged%0Amend it\n",
		},
		{
			// The file is of another repository, so nothing can be attached to it here.
			fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindMissingObject, Message: "is gone",
				Position: fleet.Position{Source: "https://example.com/app", File: "w.yaml", Line: 2},
			},
			"::warning title=missing-object::is gone  (https://example.com/app: w.yaml:2)\n",
		},
		{
			fleet.Problem{Severity: fleet.SeverityNotice, Kind: fleet.KindTemplateBuiltin, Message: "built in"},
			"::notice title=template-builtin::built in\n",
		},
	} {
		var b strings.Builder
		if err := writeAnnotations(&b, []found{{Problem: tt.problem}}); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("got  %q\nwant %q", b.String(), tt.want)
		}
	}
}

func TestSARIFLevels(t *testing.T) {
	for severity, want := range map[fleet.Severity]string{
		fleet.SeverityError: "error", fleet.SeverityWarning: "warning", fleet.SeverityNotice: "note",
	} {
		r := sarifOf(fleet.Problem{Severity: severity, Message: "m", Hint: "h"})
		if r.Level != want || r.Message.Text != "m\nh" || r.Locations != nil {
			t.Errorf("%s: got %+v", severity, r)
		}
	}
}
