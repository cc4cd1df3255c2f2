package check

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	_ "embed"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
)

// patternsOfGitleaks are the patterns of gitleaks (MIT License), as far as they apply to texts without a file name. The judge in
// judges/gitleaks writes them from the version that its go.mod names, and compares what is found with them.
//
//go:generate go -C ../../judges/gitleaks run ./export -out ../../internal/check/patterns.json
//go:embed patterns.json
var patternsOfGitleaks []byte

// Patterns are the patterns of credentials, as patterns.json has them.
type Patterns struct {
	// Rules have one pattern each, sorted by ID.
	Rules []PatternRule `json:"rules"`
	// Allow are exceptions of all rules.
	Allow []PatternException `json:"allow"`
}

// PatternRule is a pattern of a credential.
type PatternRule struct {
	ID      string `json:"id"`
	Pattern string `json:"pattern"`
	// Group is the group of the pattern with the credential. Default: the first one that is not empty.
	Group int `json:"group,omitempty"`
	// Entropy is how many bits of information each byte of the credential must have, at least.
	Entropy float64 `json:"entropy,omitempty"`
	// Keywords are in lower case. The pattern is tried only where one of them occurs; without any, everywhere.
	Keywords []string           `json:"keywords,omitempty"`
	Allow    []PatternException `json:"allow,omitempty"`
}

// PatternException allows what is found.
type PatternException struct {
	// Target is what Patterns are matched with: the "match" of the rule, its "line", or by default the credential.
	Target   string   `json:"target,omitempty"`
	Patterns []string `json:"patterns,omitempty"`
	// Words are in lower case; a credential with one of them is allowed.
	Words []string `json:"words,omitempty"`
	// All means that a pattern and a word are needed, instead of one of both.
	All bool `json:"all,omitempty"`
}

// rule is a compiled [PatternRule].
type rule struct {
	PatternRule
	regex *regexp.Regexp
	allow []exception
}

// exception is a compiled [PatternException].
type exception struct {
	PatternException
	regex *regexp.Regexp    // of all patterns; nil without any
	words *ahocorasick.Trie // nil without any
}

// readPatterns returns the embedded patterns.
func readPatterns() (rules []rule, allow []exception, err error) {
	var read Patterns
	if err := json.Unmarshal(patternsOfGitleaks, &read); err != nil {
		return nil, nil, fmt.Errorf("read the patterns of credentials: %w", err)
	}
	for _, r := range read.Rules {
		compiled := rule{PatternRule: r}
		if compiled.regex, err = regexp.Compile(r.Pattern); err != nil {
			return nil, nil, fmt.Errorf("rule %q: %w", r.ID, err)
		}
		if compiled.allow, err = compileExceptions(r.Allow); err != nil {
			return nil, nil, fmt.Errorf("rule %q: %w", r.ID, err)
		}
		rules = append(rules, compiled)
	}
	allow, err = compileExceptions(read.Allow)
	return rules, allow, err
}

func compileExceptions(all []PatternException) (compiled []exception, err error) {
	for _, a := range all {
		e := exception{PatternException: a}
		if len(a.Patterns) > 0 {
			if e.regex, err = regexp.Compile("(?:" + strings.Join(a.Patterns, ")|(?:") + ")"); err != nil {
				return nil, fmt.Errorf("an exception: %w", err)
			}
		}
		if len(a.Words) > 0 {
			e.words = ahocorasick.NewTrieBuilder().AddStrings(a.Words).Build()
		}
		compiled = append(compiled, e)
	}
	return compiled, nil
}

// allows reports whether the exception applies.
func (e *exception) allows(secret, match, line string) bool {
	target := secret
	switch e.Target {
	case "match":
		target = match
	case "line":
		target = line
	}
	pattern := e.regex != nil && target != "" && e.regex.MatchString(target)
	word := e.words != nil && e.words.MatchFirstString(strings.ToLower(secret)) != nil
	if e.All {
		return (pattern || e.regex == nil) && (word || e.words == nil)
	}
	return pattern || word
}
