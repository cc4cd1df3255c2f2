package model

import (
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// faults are faults that decide once had, or could have: each changes what decide is told so that it decides as it did.
var faults = map[string]func(*decide.Facts){
	"a verification that failed has passed when a newer commit enters": func(f *decide.Facts) {
		for c := range replaced(f) {
			c.Checks = []decide.CheckResult{{Name: "smoke", Revision: c.Revision, State: decide.CheckPassed, At: c.Entered}}
		}
	},
	"an approval is not needed any more when a newer commit enters": func(f *decide.Facts) {
		for c := range replaced(f) {
			c.Approvals = []decide.Approval{{Check: "release", By: "anna", At: c.Entered}}
		}
	},
	"a commit that failed has been deployed when its fix enters": func(f *decide.Facts) {
		for c := range replaced(f) {
			for i := range c.Spans {
				c.Spans[i].Standing = comply.StandingHolds
			}
		}
	},
	"clusters that are silent count as running the commit": func(f *decide.Facts) {
		for i := range f.Environments {
			e := &f.Environments[i]
			for k := range e.Carriers {
				for s := range e.Carriers[k].Spans {
					if span := &e.Carriers[k].Spans[s]; span.Standing == comply.StandingUnknown {
						span.Standing = comply.StandingHolds
					}
				}
			}
			if v := &e.Verdict; v.Result == comply.Waiting && v.Counts.Reached+v.Counts.Offline == v.Counts.Required {
				v.Result = comply.Passed
			}
		}
	},
	"later environments do not know what was taken back in a ring": func(f *decide.Facts) {
		for i := range f.Environments {
			e := &f.Environments[i]
			e.Rollbacks = slices.DeleteFunc(e.Rollbacks, func(b decide.Rollback) bool { return strings.Contains(b.In, "/") })
		}
	},
	"rings tell commits of the environment's branch apart, and not what they carry": func(f *decide.Facts) {
		f.Sources, f.SourceLine = nil, nil
	},
}

// replaced yields the carriers that others have replaced.
func replaced(f *decide.Facts) func(yield func(*decide.Carrier) bool) {
	return func(yield func(*decide.Carrier) bool) {
		for i := range f.Environments {
			carriers := f.Environments[i].Carriers
			for k := range carriers {
				if carriers[k].Left != (time.Time{}) && !yield(&carriers[k]) {
					return
				}
			}
		}
	}
}
