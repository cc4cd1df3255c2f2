package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Evidence is what was measured, for the ledger. It contains no credentials, and is limited in size.
type Evidence struct {
	// Value is the answer in short: a number, or a status.
	Value string
	// Output is more of it, such as the end of what a program wrote.
	Output string
	// Baseline is what the value was compared with; empty without a comparison.
	Baseline string
}

// Response is an HTTP response.
type Response struct {
	Status int
	// Header has the first value of each header.
	Header map[string]string
	// Body is the body; Cut is set if there is more of it.
	Body []byte
	Cut  bool
}

// Check returns why a response does not pass, or nil.
func (e *Expression) Check(r Response) error {
	headers := make(map[string]string, len(r.Header))
	for name, value := range r.Header {
		headers[strings.ToLower(name)] = value
	}
	variables := map[string]any{varStatus: r.Status, varHeaders: headers, varBody: strings.ToValidUTF8(string(r.Body), "�")}
	if r.Cut {
		variables[varBody] = missing("the body is larger than %d bytes", len(r.Body))
	}
	if e.refers(varJSON) {
		variables[varJSON] = parsed(r)
	}
	return e.holds(variables)
}

func parsed(r Response) any {
	var value any
	switch err := json.Unmarshal(r.Body, &value); {
	case r.Cut:
		return missing("the body is larger than %d bytes", len(r.Body))
	case err != nil:
		return missing("the body is not JSON: %v", err)
	}
	return value
}

// Sample is one value of a Prometheus answer.
type Sample struct {
	Value  float64
	Labels map[string]string
}

// Comparison is the baseline of an answer.
type Comparison struct {
	// With describes the baseline, such as "commit 3f2a9c1".
	With string
	// Value is nil if there is none; Missing explains that.
	Value   *float64
	Missing string
}

// CheckQuery returns what is wrong with the placeholders of a query, or nil.
func CheckQuery(text string) error {
	_, err := Query(text, Placeholders{"c", "e", "r", "v"})
	return err
}

// maxShown limits the values that evidence shows.
const maxShown = 5

// CheckSamples returns why an answer does not pass, or nil. c is nil without a baseline.
func (e *Expression) CheckSamples(samples []Sample, c *Comparison) (Evidence, error) {
	evidence := Evidence{Value: values(samples)}
	if len(samples) == 0 {
		return evidence, fmt.Errorf("the answer is empty: the query found no data")
	}
	results := make([]map[string]any, len(samples))
	for i, s := range samples {
		if math.IsNaN(s.Value) {
			return evidence, fmt.Errorf("the answer is NaN: there is no data to calculate it from")
		}
		results[i] = map[string]any{"value": s.Value, "labels": s.Labels}
	}
	variables := map[string]any{varResults: results, varResult: samples[0].Value}
	if len(samples) > 1 {
		variables[varResult] = missing("the answer has %d values: aggregate them in the query, or use results", len(samples))
	}
	if c != nil {
		variables[varHasBaseline] = c.Value != nil
		if c.Value == nil {
			variables[varBaseline] = missing("there is no baseline, because %s; let the first measurement pass with !hasBaseline || ..., or bypass the verification", c.Missing)
		} else {
			variables[varBaseline] = *c.Value
			evidence.Baseline = FormatNumber(*c.Value) + " of " + c.With
		}
	}
	return evidence, e.holds(variables)
}

// values formats the first values of an answer.
func values(samples []Sample) string {
	var all []string
	for _, s := range samples[:min(len(samples), maxShown)] {
		all = append(all, FormatNumber(s.Value))
	}
	if more := len(samples) - maxShown; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// FormatNumber formats a number so that [ParseNumber] returns the same.
func FormatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// ParseNumber returns the number of a recorded value, or false if it is not a single number.
func ParseNumber(value string) (float64, bool) {
	x, err := strconv.ParseFloat(value, 64)
	return x, err == nil && !math.IsNaN(x)
}

// Placeholders are the values that a query can contain, as {{.Commit}}.
type Placeholders struct {
	Commit, Environment, Ring, Revision string
}

var (
	// safe matches values that mean the same in a query, in quotes or not.
	safe = regexp.MustCompile(`^[a-z0-9][a-z0-9/-]*$`)
	// placeholder matches what stands for a value, and what is meant to.
	placeholder = regexp.MustCompile(`\{\{[^{}"']*\}\}`)
)

// Query returns a query with its placeholders replaced. A value that is missing, or that could change the meaning of the query,
// is an error; an environment without rings has the ring "".
func Query(text string, p Placeholders) (string, error) {
	var failed error
	query := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		value, known := "", true
		switch strings.TrimSpace(strings.Trim(found, "{}")) {
		case ".Commit":
			value = p.Commit
		case ".Environment":
			value = p.Environment
		case ".Ring":
			value = p.Ring
		case ".Revision":
			value = p.Revision
		default:
			known = false
		}
		switch {
		case !known && failed == nil:
			failed = fmt.Errorf("%s is not one of {{.Commit}}, {{.Environment}}, {{.Ring}} and {{.Revision}}", found)
		case value == "" && known && strings.TrimSpace(strings.Trim(found, "{}")) != ".Ring" && failed == nil:
			failed = fmt.Errorf("%s is not known", found)
		case value != "" && !safe.MatchString(value) && failed == nil:
			failed = fmt.Errorf("%s is %q, which a query must not contain", found, value)
		}
		return value
	})
	return query, failed
}
