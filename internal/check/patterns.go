package check

import (
	"regexp"
	"slices"
	"strings"
)

// patterns are those of gitleaks, in two parts. The result is the same as with one detector.
type patterns struct {
	// specific detects the credentials of known services. Most of its patterns run only where the service's name occurs.
	specific *detector
	// generic detects values with names such as "password". It costs more than all the others together, so it runs
	// only on lines with one of its words, and on the lines where a match can end.
	generic *detector
}

// genericRule is the id of the generic pattern in gitleaks.
const genericRule = "generic-api-key"

// reach is the maximum number of lines from the word to the end of a match of the generic pattern: three line breaks before
// the assignment, and five after it.
const reach = 8

// words of the generic pattern; every match has one of them.
var words = []string{"access", "api", "auth", "credential", "creds", "key", "passw", "secret", "token"}

func newPatterns() (*patterns, error) {
	rules, allowed, err := readPatterns()
	if err != nil {
		return nil, err
	}
	specific, err := newDetector(rules, allowed, func(id string) bool { return id != genericRule }, words...)
	if err != nil {
		return nil, err
	}
	generic, err := newDetector(rules, allowed, func(id string) bool { return id == genericRule })
	return &patterns{specific: specific, generic: generic}, err
}

// find returns what gitleaks finds in the whole text. complete is false if there are more matches than [maxMatches].
func (p *patterns) find(text string) (all []credential, complete bool) {
	left, worded := maxMatches, !isASCII(text)
	found := p.specific.detect(text, &left, func(from, to int) { worded = worded || isWordAt(text, from, to) })
	named := found
	if !worded {
		return named, left >= 0
	}
	for _, w := range windows(text) {
		for _, f := range p.generic.detect(w.text, &left, nil) {
			if harmless(lineOf(w.text, f.line)) {
				continue
			}
			f.line += w.line
			if !known(found, f) {
				named = append(named, f)
			}
		}
		if left < 0 {
			break
		}
	}
	return named, left >= 0
}

// harmlessLine matches lines that the generic pattern takes for a credential by their name, though they are public:
// checksums that restart pods when a Secret changes, and public keys.
var harmlessLine = regexp.MustCompile(`(?i)^\s*["']?[\w./-]*(?:(?:checksum|sha256sum)[\w./-]*["']?\s*:\s*["']?[0-9a-f]{32,128}["']?\s*,?$|pub(?:lic)?[_-]?keys?["']?\s*[:=])`)

func harmless(line string) bool { return len(line) <= maxAround && harmlessLine.MatchString(line) }

// lineOf returns a line of a text; the first one is 0.
func lineOf(text string, n int) string {
	for range n {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r")
}

// known reports whether a specific pattern has found the credential.
func known(found []credential, f credential) bool {
	for _, better := range found {
		if better.line == f.line && strings.Contains(better.secret, f.secret) {
			return true
		}
	}
	return false
}

// window is a part of a text, with the number of lines before it.
type window struct {
	text string
	line int
}

// windows returns the parts of a text, in whole lines, in which the generic pattern can match. They do not touch.
func windows(text string) []window {
	var all []window
	left, open, start, end, number := 0, false, 0, 0, 0
	for line := range strings.Lines(text) {
		if hasWord(line) {
			if !open {
				all, open, start = append(all, window{line: number}), true, end
			}
			left = reach + 1
		}
		end += len(line)
		number++
		if left--; open && left <= 0 {
			all[len(all)-1].text, open = text[start:end], false
		}
	}
	if open {
		all[len(all)-1].text = text[start:]
	}
	return all
}

// isWordAt reports whether something in a text of ASCII letters is a word that hasWord may find in its line.
func isWordAt(text string, from, to int) bool {
	if (from == 0 || text[from-1] == '\n') && strings.HasPrefix(text[from:], "apiVersion:") {
		return false
	}
	return slices.Contains(words, strings.ToLower(text[from:to]))
}

// isASCII reports whether a text has only ASCII letters. Some of the others fold to ASCII.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// hasWord reports whether a match can begin in a line. Like gitleaks, it ignores the "api" in apiVersion.
func hasWord(line string) bool {
	line = strings.TrimPrefix(strings.TrimLeft(line, " -"), "apiVersion:")
	if !isASCII(line) {
		return true
	}
	line = strings.ToLower(line)
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}
