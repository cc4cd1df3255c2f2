package gitleaks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/kalypso-io/kalypso/internal/check"
)

// Export returns the patterns of gitleaks that apply to texts without a file name, as [check.Patterns] with a line for each rule.
func Export() ([]byte, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, err
	}
	patterns, err := patternsOf(&d.Config)
	if err != nil {
		return nil, err
	}
	return format(patterns)
}

func patternsOf(c *config.Config) (check.Patterns, error) {
	var p check.Patterns
	for _, id := range slices.Sorted(maps.Keys(c.Rules)) {
		r := c.Rules[id]
		switch {
		case len(r.RequiredRules) > 0:
			return p, fmt.Errorf("rule %q depends on other rules, which is not supported", id)
		case r.Regex == nil || r.SkipReport || r.Path != nil && !r.Path.MatchString(""):
			continue
		}
		allow, err := exceptionsOf(r.Allowlists)
		if err != nil {
			return p, fmt.Errorf("rule %q: %w", id, err)
		}
		keywords := make([]string, len(r.Keywords))
		for i, k := range r.Keywords {
			keywords[i] = strings.ToLower(k)
		}
		slices.Sort(keywords)
		p.Rules = append(p.Rules, check.PatternRule{
			ID: id, Pattern: r.Regex.String(), Group: r.SecretGroup, Entropy: r.Entropy, Keywords: slices.Compact(keywords), Allow: allow,
		})
	}
	var err error
	p.Allow, err = exceptionsOf(c.Allowlists)
	return p, err
}

// exceptionsOf returns the exceptions that can apply to a text. Those that name only commits or files cannot.
func exceptionsOf(all []*config.Allowlist) (found []check.PatternException, err error) {
	for _, a := range all {
		elsewhere := len(a.Commits)+len(a.Paths) > 0
		if len(a.Regexes)+len(a.StopWords) == 0 || elsewhere && a.MatchCondition == config.AllowlistMatchAnd {
			continue
		}
		e := check.PatternException{Target: a.RegexTarget, All: a.MatchCondition == config.AllowlistMatchAnd}
		switch e.Target {
		case "secret":
			e.Target = ""
		case "", "match", "line":
		default:
			return nil, errors.New("an exception has the unknown target " + e.Target)
		}
		for _, r := range a.Regexes {
			e.Patterns = append(e.Patterns, r.String())
		}
		for _, w := range a.StopWords {
			e.Words = append(e.Words, strings.ToLower(w))
		}
		slices.Sort(e.Words)
		found = append(found, e)
	}
	return found, nil
}

// format writes a rule in a line, so that a new version is a difference that can be read.
func format(p check.Patterns) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteString("{\"rules\": [\n")
	for i := range p.Rules {
		if i > 0 {
			b.WriteString(",")
		}
		if err := encoder.Encode(&p.Rules[i]); err != nil {
			return nil, err
		}
	}
	b.WriteString("], \"allow\":\n")
	if err := encoder.Encode(p.Allow); err != nil {
		return nil, err
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}
