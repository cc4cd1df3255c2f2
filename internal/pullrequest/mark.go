package pullrequest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Mark is the machine-readable part of a pull request's text: what it was made from, and what was done for it.
type Mark struct {
	// Name is the environment, or another name that tells the pull requests of a repository apart.
	Name string `json:"environment"`
	// Digest identifies what is proposed; empty in a pull request that was withdrawn.
	Digest string `json:"digest"`
	// Base is the commit of the base branch that Commit was made on.
	Base   string `json:"base"`
	Commit string `json:"commit"`
	// Statuses are those that were set on Commit, by context.
	Statuses map[string]forge.StatusState `json:"statuses,omitempty"`
	// Merging is the commit that the forge was asked to merge when its checks succeed; empty if it was not.
	Merging string `json:"merging,omitempty"`
	// Annotated identifies the findings that are shown as annotations; empty if there are none.
	Annotated string `json:"annotated,omitempty"`
	// Inputs are the commits of the sources by name.
	Inputs map[string]string `json:"inputs,omitempty"`
}

// markPrefix begins the line with the mark.
const markPrefix = "kalypso:"

// MarkOf returns the mark of a text; zero if it has none, or an invalid one.
func MarkOf(body string) Mark {
	var m Mark
	for line := range strings.Lines(body) {
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "<!-- "), " -->")
		if data, ok := strings.CutPrefix(text, markPrefix); ok && json.Unmarshal([]byte(data), &m) != nil {
			return Mark{}
		}
	}
	return m
}

// String returns the mark as it is written. It escapes what would end the HTML comment around it, or be shortened there.
func (m Mark) String() string {
	data, err := json.Marshal(m)
	if err != nil {
		return markPrefix + "{}" // cannot happen: a mark holds nothing but texts
	}
	return markPrefix + strings.NewReplacer("--", `-\u002d`, " ", `\u0020`).Replace(string(data))
}

// comparable returns the mark without the inputs.
func (m Mark) comparable() string {
	m.Inputs = nil
	return m.String()
}

// without returns a text without its mark.
func without(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "<!-- "+markPrefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sourcePrefix begins the line that names the inputs. They may change without anything else changing.
const sourcePrefix = "<sub>"

// same reports whether two texts differ in nothing but their inputs. Forges may change line ends and the space around a text.
func same(is, want string) bool {
	return slices.Equal(lines(is), lines(want)) && MarkOf(is).comparable() == MarkOf(want).comparable()
}

// lines returns the lines of a text that have to be the same.
func lines(body string) []string {
	var all []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, sourcePrefix) && !strings.HasPrefix(line, "<!-- "+markPrefix) {
			all = append(all, line)
		}
	}
	return all
}
