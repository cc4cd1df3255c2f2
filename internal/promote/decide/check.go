package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
)

// Check is a verification with a name that is unique in its environment.
type Check struct {
	Name string
	v1alpha1.Verification
	// Expression is that of http and prometheus; nil for none.
	Expression *measure.Expression
}

// defaultInterval is the default of [v1alpha1.Verification.Interval], shortestInterval its minimum.
const (
	defaultInterval  = time.Minute
	shortestInterval = time.Second
)

// Kind returns the name of the field that is set, such as "http".
func (c *Check) Kind() string {
	switch {
	case c.HTTP != nil:
		return "http"
	case c.Command != nil:
		return "command"
	case c.Prometheus != nil:
		return "prometheus"
	case c.CommitStatus != nil:
		return "commitStatus"
	case c.Job != nil:
		return "job"
	default:
		return "approval"
	}
}

// Every returns the time between two measurements.
func (c *Check) Every() time.Duration {
	if c.Interval == nil {
		return defaultInterval
	}
	return c.Interval.Duration
}

// required returns how many measurements must pass, or how many users must approve.
func (c *Check) required() int {
	if c.Approval != nil {
		return max(c.Approval.Count, 1)
	}
	return max(c.Count, 1)
}

// text returns the expression; empty for none.
func (c *Check) text() string {
	if c.Expression == nil {
		return ""
	}
	return c.Expression.String()
}

// FindCheck returns a verification of an environment by its name. It returns false if the rules have none of this name, or are
// not valid.
func FindCheck(p *v1alpha1.Promotion, name string) (Check, bool) {
	if p == nil {
		return Check{}, false
	}
	checks, _ := parseChecks(p.Verify)
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		return Check{}, false
	}
	return checks[i], true
}

// checkProblem is a problem of a verification, with the field below spec.promotion.
type checkProblem struct {
	field string
	err   error
}

// parseChecks names verifications that have no name, and compiles expressions. It returns no checks with problems.
func parseChecks(verify []v1alpha1.Verification) ([]Check, []checkProblem) {
	var checks []Check
	var problems []checkProblem
	taken := map[string]bool{}
	for i, v := range verify {
		c := Check{Name: v.Name, Verification: v}
		if c.Name == "" {
			c.Name = fmt.Sprintf("verification %d", i+1)
		}
		field, err := c.parse()
		if taken[c.Name] && err == nil {
			err = fmt.Errorf("another one is called %q", c.Name)
		}
		if err != nil {
			problems = append(problems, checkProblem{strings.TrimSuffix(fmt.Sprintf("verify[%d].%s", i, field), "."), err})
		}
		taken[c.Name] = true
		checks = append(checks, c)
	}
	if problems != nil {
		return nil, problems
	}
	return checks, nil
}

// parse compiles the expression, and returns what is wrong with the verification and in which of its fields.
func (c *Check) parse() (field string, err error) {
	kinds := 0
	for _, set := range []bool{c.HTTP != nil, c.Command != nil, c.Prometheus != nil, c.CommitStatus != nil, c.Job != nil, c.Approval != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return "", fmt.Errorf("%q: want exactly one of http, command, prometheus, commitStatus, job and approval", c.Name)
	case c.Interval != nil && c.Interval.Duration < shortestInterval:
		return "interval", fmt.Errorf("%s is less than %s", c.Interval.Duration, shortestInterval)
	case c.Timeout != nil && c.Timeout.Duration <= 0:
		return "timeout", fmt.Errorf("%s is no time at all", c.Timeout.Duration)
	case c.Count < 0 || c.FailureLimit < 0:
		return "", errors.New("count and failureLimit are not negative")
	case c.Approval != nil && (c.Count > 0 || c.FailureLimit > 0 || c.Interval != nil):
		return "", errors.New("an approval is not measured: how many users must approve is approval.count")
	case c.Job != nil:
		return c.checkJob()
	case c.HTTP != nil && c.HTTP.Expression != "":
		c.Expression, err = measure.ParseHTTP(c.HTTP.Expression)
		return "http.expression", err
	case c.Prometheus != nil:
		return c.parsePrometheus()
	}
	return "", nil
}

func (c *Check) checkJob() (field string, err error) {
	if problems := validation.IsValidLabelValue(c.Job.Template); c.Job.Template == "" || len(problems) > 0 {
		return "job.template", fmt.Errorf("%q is not the value of a label: %s", c.Job.Template, strings.Join(problems, "; "))
	}
	if t := c.Job.Timeout; t != nil && (t.Duration < time.Second || t.Duration > hub.MaxJobTime) {
		return "job.timeout", fmt.Errorf("%s is not between %s and %s", t.Duration, time.Second, hub.MaxJobTime)
	}
	return "", nil
}

func (c *Check) parsePrometheus() (field string, err error) {
	p := c.Prometheus
	if err := measure.CheckQuery(p.Query); err != nil {
		return "prometheus.query", err
	}
	if ring, ok := strings.CutPrefix(p.Baseline, v1alpha1.BaselineRing); p.Baseline != "" && p.Baseline != v1alpha1.BaselinePrevious && (!ok || ring == "") {
		return "prometheus.baseline", fmt.Errorf("%q is neither previous nor ring:NAME", p.Baseline)
	}
	c.Expression, err = measure.ParsePrometheus(p.Expression, p.Baseline != "")
	return "prometheus.expression", err
}
