package pullrequest

import (
	"encoding/json"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Mark is the machine-readable part of a change's text: what it was made from, and what was done for it.
type Mark struct {
	// Name tells the changes of one program apart: the environment.
	Name string `json:"environment"`
	// Digest identifies what is proposed, whatever lies beside it; empty when nothing is any more.
	Digest string `json:"digest"`
	// Base is the commit of the base branch that Commit was made on.
	Base   string `json:"base"`
	Commit string `json:"commit"`
	// Statuses are the states of the statuses that were set on Commit, by context.
	Statuses map[string]forge.StatusState `json:"statuses,omitempty"`
	// Merging is the commit that the forge was asked to merge by itself; empty when it was not.
	Merging string `json:"merging,omitempty"`
	// Annotated identifies the findings that are shown at their places; empty when there are none.
	Annotated string `json:"annotated,omitempty"`
	// Inputs are the commits of the sources by name.
	Inputs map[string]string `json:"inputs,omitempty"`
}

// markPrefix begins the marker line of a text.
const markPrefix = "kalypso:"

// MarkOf reads the mark of a text; the zero value when it has none, or one that is broken.
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

// String is the marker. What would end the comment that holds it, or be shortened in it, is escaped as JSON allows.
func (m Mark) String() string {
	data, err := json.Marshal(m)
	if err != nil {
		return markPrefix + "{}" // cannot happen: a mark holds nothing but texts
	}
	return markPrefix + strings.NewReplacer("--", `-\u002d`, " ", `\u0020`).Replace(string(data))
}

// essence is a mark without the inputs.
func (m Mark) essence() string {
	m.Inputs = nil
	return m.String()
}

// without is a text without its mark.
func without(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "<!-- "+markPrefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// SourcePrefix begins the line of a text that names its inputs. They may change without anything else changing.
const SourcePrefix = "<sub>"

// same reports whether two texts say the same, whatever inputs they were made from.
// Forges may change line ends and the space around a text.
func same(is, want string) bool {
	return strings.Join(essence(is), "\n") == strings.Join(essence(want), "\n") && MarkOf(is).essence() == MarkOf(want).essence()
}

func essence(body string) []string {
	var lines []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, SourcePrefix) && !strings.HasPrefix(line, "<!-- "+markPrefix) {
			lines = append(lines, line)
		}
	}
	return lines
}
