package check

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strings"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
)

// credential is a text that a pattern takes for a credential.
type credential struct {
	rule   string
	line   int // from 0
	secret string
}

// detector applies the patterns of gitleaks to texts without a file name. It finds what gitleaks finds. The detector of gitleaks also reads
// repositories and archives of all kinds, and needs dozens of modules for that.
type detector struct {
	rules []rule
	// literals has texts for each rule of which every match has one; nil if that is not known.
	literals [][]string
	// inLine has for each rule whether every match is within a line.
	inLine []bool
	// always are the rules without keywords; of has the rules of each keyword. Both are indexes of rules.
	always []int
	of     map[string][]int
	// allowed are exceptions of all rules.
	allowed []exception
	// keywords finds the keywords of rules in lower case: most rules are tried only where one of theirs occurs.
	keywords *ahocorasick.Trie
}

// newDetector returns a detector of some rules with exceptions of them all, which finds other words, too.
func newDetector(rules []rule, allowed []exception, wanted func(id string) bool, others ...string) (*detector, error) {
	d := &detector{allowed: allowed, of: map[string][]int{}}
	for _, r := range rules {
		if !wanted(r.ID) {
			continue
		}
		if len(r.Keywords) == 0 {
			d.always = append(d.always, len(d.rules))
		}
		for _, k := range r.Keywords {
			d.of[k] = append(d.of[k], len(d.rules))
		}
		d.rules = append(d.rules, r)
		parsed, err := syntax.Parse(r.Pattern, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", r.ID, err)
		}
		d.literals, d.inLine = append(d.literals, literalsOf(parsed)), append(d.inLine, isInLine(parsed))
	}
	for _, word := range others {
		if _, known := d.of[word]; !known {
			d.of[word] = nil
		}
	}
	d.keywords = ahocorasick.NewTrieBuilder().AddStrings(slices.Sorted(maps.Keys(d.of))).Build()
	return d, nil
}

// maxMatches limits how many matches of patterns are examined in one text. Each costs time that depends on the text around it.
const maxMatches = 2000

// detect returns the credentials in a text, by rule and place. It takes each match that it examines from left, and stops when that is below 0.
// It calls seen, which may be nil, with the place of each keyword and other word. Places are those in the text in lower case.
func (d *detector) detect(text string, left *int, seen func(from, to int)) []credential {
	var found []credential
	for _, i := range d.possible([]byte(text), seen) {
		r := &d.rules[i]
		lines, counted := 0, 0 // line ends in text[:counted]
		for _, at := range d.matches(i, text, *left+1) {
			if *left--; *left < 0 {
				return found
			}
			lines += strings.Count(text[counted:min(at[0]+1, len(text))], "\n")
			counted = min(at[0]+1, len(text))
			match := strings.Trim(text[at[0]:at[1]], "\n")
			secret := secretIn(r, match)
			line := lineAround(text, at[0], at[0]+len(match))
			if strings.Contains(line, "gitleaks:allow") || r.Entropy != 0 && entropy(secret) <= r.Entropy ||
				isAllowed(d.allowed, secret, match, line) || isAllowed(r.allow, secret, match, line) {
				continue
			}
			found = append(found, credential{r.ID, lines, secret})
		}
	}
	return found
}

// matches returns the places of at most so many matches of a rule.
func (d *detector) matches(rule int, text string, most int) (all [][]int) {
	pattern, literals := d.rules[rule].regex, d.literals[rule]
	if literals == nil || !d.inLine[rule] {
		return pattern.FindAllStringIndex(text, most)
	}
	// Only lines with a literal can have a match: that is much less of a large text.
	next := make([]int, len(literals)) // the first place of each literal after start
	for start := 0; start < len(text) && len(all) < most; {
		first := len(text)
		for n, literal := range literals {
			if next[n] <= start {
				next[n] = len(text)
				if at := strings.Index(text[start:], literal); at >= 0 {
					next[n] = start + at
				}
			}
			first = min(first, next[n])
		}
		if first == len(text) {
			break
		}
		from, to := strings.LastIndexByte(text[:first], '\n')+1, len(text)
		if at := strings.IndexByte(text[first:], '\n'); at >= 0 {
			to = first + at
		}
		for _, at := range pattern.FindAllStringIndex(text[from:to], most-len(all)) {
			all = append(all, []int{from + at[0], from + at[1]})
		}
		start = to + 1
	}
	return all
}

// isInLine reports whether a match of a pattern is always within a line, and depends on nothing outside of it.
func isInLine(pattern *syntax.Regexp) bool {
	switch pattern.Op {
	case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
		return false
	case syntax.OpLiteral:
		return !slices.Contains(pattern.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(pattern.Rune); i += 2 {
			if pattern.Rune[i] <= '\n' && '\n' <= pattern.Rune[i+1] {
				return false
			}
		}
	}
	return !slices.ContainsFunc(pattern.Sub, func(sub *syntax.Regexp) bool { return !isInLine(sub) })
}

// possible returns the rules that can match in a text, in their order.
func (d *detector) possible(text []byte, seen func(from, to int)) []int {
	rules := slices.Clone(d.always)
	lower := bytes.ToLower(text)
	d.keywords.Walk(lower, func(last, n, _ int64) bool {
		from, to := int(last-n+1), int(last+1)
		rules = append(rules, d.of[string(lower[from:to])]...)
		if seen != nil {
			seen(from, to)
		}
		return true
	})
	slices.Sort(rules)
	return slices.DeleteFunc(slices.Compact(rules), func(i int) bool {
		return d.literals[i] != nil && !slices.ContainsFunc(d.literals[i], func(literal string) bool { return bytes.Contains(text, []byte(literal)) })
	})
}

// maxLiterals limits how many texts are searched for before a pattern is tried.
const maxLiterals = 8

// literalsOf returns texts of which every match of a pattern has one, or nil. Only a few of the keywords of gitleaks' rules are in upper case in
// their pattern, and in lower case in everyday words, such as "ASIA".
func literalsOf(pattern *syntax.Regexp) []string {
	switch pattern.Op {
	case syntax.OpLiteral:
		if pattern.Flags&syntax.FoldCase == 0 {
			return []string{string(pattern.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(pattern.Sub[0])
	case syntax.OpRepeat:
		if pattern.Min > 0 {
			return literalsOf(pattern.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range pattern.Sub {
			some := literalsOf(sub)
			if all = append(all, some...); some == nil || len(all) > maxLiterals {
				return nil
			}
		}
		return all
	case syntax.OpConcat:
		for _, sub := range pattern.Sub {
			if some := literalsOf(sub); some != nil {
				return some
			}
		}
	}
	return nil
}

// secretIn returns the credential in a match: the group that the rule names, else the first group that is not empty.
func secretIn(r *rule, match string) string {
	groups := r.regex.FindStringSubmatch(match)
	if r.Group > 0 && r.Group < len(groups) {
		return groups[r.Group]
	}
	for i, group := range groups {
		if i > 0 && group != "" {
			return group
		}
	}
	return match
}

// isAllowed reports whether one of some exceptions applies.
func isAllowed(exceptions []exception, secret, match, line string) bool {
	return slices.ContainsFunc(exceptions, func(e exception) bool { return e.allows(secret, match, line) })
}

// maxAround limits how much of the lines before and after a match is read, in bytes: a text of one long line can have many matches.
const maxAround = 1024

// lineAround returns the lines of a match, as gitleaks cuts them: with the line end before, and all of the text up to a match in a last line
// without line end. Of longer lines it returns what is near the match.
func lineAround(text string, start, end int) string {
	from, to := max(start-maxAround, 0), min(end+maxAround, len(text))
	return cutLine(text[from:to], start-from, end-from)
}

func cutLine(text string, start, end int) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	after := min(start+1, len(text))
	next := strings.IndexByte(text[after:], '\n')
	if next < 0 {
		if i := strings.IndexAny(text[end:], "\r\n"); i >= 0 {
			return text[:end+i]
		}
		return text
	}
	to := after + next
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		to = end + i
	}
	return text[max(strings.LastIndexByte(text[:after], '\n'), 0):max(to, end)]
}

// entropy returns the bits of information in each byte of a text, by Shannon.
func entropy(text string) float64 {
	counts := map[rune]int{}
	for _, r := range text {
		counts[r]++
	}
	bits := 0.0
	for _, n := range counts {
		share := float64(n) / float64(len(text))
		bits -= share * math.Log2(share)
	}
	return bits
}
