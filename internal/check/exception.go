package check

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Exception accepts findings of a rule until a date.
type Exception struct {
	// Rule is the rule. File and Object are patterns, Key the field; empty ones match everything.
	Rule, File, Object, Key string
	Reason                  string
	// Until is the last day.
	Until string
	// Ended tells that the date has passed: see [Policy.At].
	Ended bool
}

func exceptionOf(e v1alpha1.CheckException) Exception {
	return Exception{Rule: e.Rule, File: e.File, Object: e.Object, Key: e.Key, Reason: e.Reason, Until: e.Until}
}

// At returns the policy for manifests of commits, of which the last was made at a time: exceptions that ended before it do not count. Their end
// depends on commits and not on the clock, so that the same commits have the same findings. The zero time is before every end.
func (p Policy) At(last time.Time) Policy {
	p.Exceptions = slices.Clone(p.Exceptions)
	for i, e := range p.Exceptions {
		until, err := time.Parse(time.DateOnly, e.Until)
		p.Exceptions[i].Ended = err != nil || !last.Before(until.AddDate(0, 0, 1))
	}
	return p
}

// EndedText says that the exception of a finding has ended, for the end of a message; empty without one.
func (f Finding) EndedText() string {
	if f.ExceptionEnded == "" {
		return ""
	}
	return "; its exception ended on " + f.ExceptionEnded
}

// matches reports whether an exception is for a finding.
func (e Exception) matches(f Finding) bool {
	is := func(pattern, text string) bool {
		matched, err := path.Match(pattern, text)
		return pattern == "" || err == nil && matched
	}
	return e.Rule == f.Rule && (e.File != "" || e.Object != "") && is(e.File, f.File) && is(e.Object, f.Object) && (e.Key == "" || e.Key == f.Path)
}

// except lowers the level of findings with an exception, and says of others that theirs has ended.
func (c *Checker) except(findings []Finding) []Finding {
	for i := range findings {
		f := &findings[i]
		for _, e := range c.policy.Exceptions {
			if !e.matches(*f) {
				continue
			}
			if !e.Ended {
				f.Level, f.Exception, f.ExceptionEnded = Inform, fmt.Sprintf("%s (until %s)", e.Reason, e.Until), ""
				break
			}
			f.ExceptionEnded = e.Until
		}
		f.Message += f.EndedText()
	}
	return findings
}
