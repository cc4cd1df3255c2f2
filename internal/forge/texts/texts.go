// Package texts keeps labels and markers in the texts of pull requests and comments, for forges that have neither.
//
// The labels of a pull request are the first line of its text, which users can edit as well:
//
//	Labels: `promoted`, `kalypso/allow-deletions`
//
// [forge.Mark] writes a marker as an HTML comment. A forge that shows HTML as text would show it, so it is stored as a link that
// nothing uses, which every Markdown leaves out:
//
//	[//]: # (kalypso/plan dev)
//
// The few other elements of HTML in texts, of parts that fold and of small print, are replaced in the same way.
package texts

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// MaxLabels limits the line with the labels, in characters.
const MaxLabels = 2000

// The lengths of texts that adapters accept where a forge takes 32,768 characters: labels and hidden lines need room as well.
const (
	Body    = 28_000
	Comment = 30_000
)

const labelsPrefix = "Labels:"

// Compose returns the text of a pull request with labels and a body.
func Compose(labels []string, body string) string {
	_, _, labeled := cutLabels(body)
	if len(labels) == 0 && !labeled {
		return Hide(body)
	}
	line := labelsPrefix
	for i, name := range slices.Sorted(slices.Values(labels)) {
		if i > 0 {
			line += ","
		}
		line += " `" + name + "`"
	}
	return line + "\n\n" + Hide(body)
}

// Parse returns the labels, sorted, and the body of a text that [Compose] or a user wrote. Only the first line can be that of labels: a
// body that begins like one gets an empty line of labels before it, so that no body can add labels.
func Parse(text string) (labels []string, body string) {
	line, rest, labeled := cutLabels(text)
	if !labeled {
		return []string{}, Show(text)
	}
	labels = []string{}
	for name := range strings.SplitSeq(line, ",") {
		if name = strings.Trim(strings.TrimSpace(name), "`"); Valid(name) && !has(labels, name) {
			labels = append(labels, name)
		}
	}
	slices.Sort(labels)
	return labels, Show(rest)
}

// cutLabels cuts the line of labels and the empty line that follows it.
func cutLabels(text string) (line, rest string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if len(first) < len(labelsPrefix) || !strings.EqualFold(first[:len(labelsPrefix)], labelsPrefix) {
		return "", text, false
	}
	if empty, after, more := strings.Cut(rest, "\n"); more && strings.TrimSpace(empty) == "" {
		rest = after
	}
	return strings.TrimSpace(first[len(labelsPrefix):]), rest, true
}

// Valid reports whether a name can be that of a label in a text.
func Valid(name string) bool {
	return name != "" && strings.TrimSpace(name) == name && len(name) <= 200 && !strings.ContainsAny(name, "`,") &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// Add returns labels with further names. The error is [forge.ErrInvalid] if they cannot be written.
func Add(labels []string, names ...string) ([]string, error) {
	all := slices.Clone(labels)
	for _, name := range names {
		if !Valid(name) {
			return nil, &forge.Error{
				Kind: forge.ErrInvalid, Op: "add labels", Detail: "a label is a line without commas, backticks and control characters",
			}
		}
		if !has(all, name) {
			all = append(all, name)
		}
	}
	if len([]rune(Compose(all, ""))) > MaxLabels {
		return nil, &forge.Error{Kind: forge.ErrInvalid, Op: "add labels", Detail: "the pull request has too many labels"}
	}
	return all, nil
}

// Remove returns labels without a name, ignoring case.
func Remove(labels []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return strings.EqualFold(l, name) })
}

func has(labels []string, name string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, name) })
}

var (
	shown  = regexp.MustCompile(`(?m)^<!-- ([^()\\\r\n]+) -->$`)
	hidden = regexp.MustCompile(`(?m)^\[//\]: # \(([^()\\\r\n]+)\)$`)
)

// elements are the lines of HTML that texts have, as they are written and stored. What folds elsewhere is shown with its title here.
var elements = []struct {
	written, stored     *regexp.Regexp
	toWritten, toStored string
}{
	{
		regexp.MustCompile(`(?m)^<details><summary>(.*)</summary>$`), regexp.MustCompile(`(?m)^\[//\]: # \(<details>\)\n\*\*(.*)\*\*$`),
		"<details><summary>$1</summary>", "[//]: # (<details>)\n**$1**",
	},
	{
		regexp.MustCompile(`(?m)^</details>$`), regexp.MustCompile(`(?m)^\[//\]: # \(</details>\)$`),
		"</details>", "[//]: # (</details>)",
	},
	{
		regexp.MustCompile(`(?m)^<sub>(.*)</sub>$`), regexp.MustCompile(`(?m)^\[//\]: # \(<sub>\)\n(.*)$`),
		"<sub>$1</sub>", "[//]: # (<sub>)\n$1",
	},
	{shown, hidden, "<!-- $1 -->", "[//]: # ($1)"},
}

// Hide replaces the HTML of a text that pages would show by links that they leave out. Only whole lines are.
func Hide(text string) string {
	for _, e := range slices.Backward(elements) { // comments first: what replaces the others looks like theirs
		text = e.written.ReplaceAllString(text, e.toStored)
	}
	return text
}

// Show reverses [Hide].
func Show(text string) string {
	for _, e := range elements {
		text = e.stored.ReplaceAllString(text, e.toWritten)
	}
	return text
}
