package check

import (
	"maps"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"
)

// patterns are those of gitleaks, in two parts. Looking for them changes nothing in it.
type patterns struct {
	// specific know what the credentials of one service look like; most of them are tried only where its name is.
	specific *detect.Detector
	// generic has the one pattern that knows how people name credentials. It costs more than all the others together, so it looks
	// only at the lines that have one of its words, and at those where what it is named for may still follow.
	generic *detect.Detector
}

// genericRule is what gitleaks calls the pattern of names.
const genericRule = "generic-api-key"

// reach is how many lines after its word a match of the generic pattern may end: it has room for three breaks before
// what assigns the value, and for five after it.
const reach = 8

// words are those of the generic pattern, of which every match has one.
var words = []string{"access", "api", "auth", "credential", "creds", "key", "passw", "secret", "token"}

func newPatterns() (*patterns, error) {
	all, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, err
	}
	specific, generic := all.Config, all.Config
	specific.Rules = maps.Clone(all.Config.Rules)
	delete(specific.Rules, genericRule)
	generic.Rules = maps.Clone(all.Config.Rules)
	maps.DeleteFunc(generic.Rules, func(id string, _ config.Rule) bool { return id != genericRule })
	return &patterns{specific: detect.NewDetector(specific), generic: detect.NewDetector(generic)}, nil
}

// find returns what looks like a credential, as gitleaks would find it in the whole text.
func (p *patterns) find(text string) []report.Finding {
	found := look(p.specific, text)
	named := found
	for _, w := range windows(text) {
		for _, f := range look(p.generic, w.text) {
			f.StartLine += w.line
			if !known(found, f) {
				named = append(named, f)
			}
		}
	}
	return named
}

func look(d *detect.Detector, text string) []report.Finding {
	return d.Detect(detect.Fragment{Raw: text}) //nolint:staticcheck // its successor is for the next major version
}

// known reports whether a pattern that knows better has found the credential.
func known(found []report.Finding, f report.Finding) bool {
	for _, better := range found {
		if better.StartLine == f.StartLine && strings.Contains(better.Secret, f.Secret) {
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

// windows are the whole lines of a text in which the generic pattern can find something. No two of them touch.
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

// hasWord reports whether a match may begin in a line. The key that every object has is not one of the names of credentials,
// gitleaks agrees, though it has the word "api" in it.
func hasWord(line string) bool {
	line = strings.TrimPrefix(strings.TrimLeft(line, " -"), "apiVersion:")
	for i := range len(line) {
		if line[i] >= 0x80 {
			return true // there are letters that are one of ours in another case
		}
	}
	line = strings.ToLower(line)
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}
