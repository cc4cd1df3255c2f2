package forge

import (
	"strings"
	"time"
)

// Label is a word that changes are tagged with.
type Label struct {
	Name string // required
	// Color is six hexadecimal digits; empty means a grey.
	Color       string
	Description string
}

// DefaultColor is the colour of a label that has none.
const DefaultColor = "ededed"

// Comment is a part of the conversation on a pull request.
type Comment struct {
	// ID is the forge's name for it.
	ID     string
	Author string
	Body   string
	// URL is its place on the page for people; may be empty.
	URL       string
	CreatedAt time.Time
}

// Mark appends a marker to a text, on a line of its own that pages do not show.
// A text that has it stays as it is. What is cut to a limit is cut before its marker.
func Mark(text, marker string, limit int) string {
	if Marked(text, marker) {
		return Cut(text, limit)
	}
	line := markerLine(marker)
	if limit > 0 {
		text = Cut(text, max(limit-len([]rune(line))-2, 1))
	}
	return strings.TrimRight(text, "\n") + "\n\n" + line
}

// Marked reports whether a text has a marker. Quoting a text quotes its marker, which does not count:
// it has to be a whole line.
func Marked(text, marker string) bool {
	want := markerLine(marker)
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\r\n") == want {
			return true
		}
	}
	return false
}

// markerLine is a comment of HTML, which Markdown keeps and no page shows.
// "--" would end it early, so that a marker's own are spaced out.
func markerLine(marker string) string {
	marker = strings.Join(strings.Fields(marker), " ")
	for strings.Contains(marker, "--") {
		marker = strings.ReplaceAll(marker, "--", "- -")
	}
	return "<!-- " + strings.ReplaceAll(marker, ">", "") + " -->"
}

// LivingComment returns the comment that carries a marker: the oldest, since two servers at once may have written two.
// author is who we are; where that is unknown it is empty and anybody's counts.
func LivingComment(comments []Comment, marker, author string) (Comment, bool) {
	for _, c := range comments {
		if Marked(c.Body, marker) && (author == "" || strings.EqualFold(c.Author, author)) {
			return c, true
		}
	}
	return Comment{}, false
}

// OurComment is [LivingComment] for who asks a forge who we are: only when there is a comment that could be ours.
func OurComment(comments []Comment, marker string, viewer func() (string, error)) (ours Comment, found bool, err error) {
	if _, marked := LivingComment(comments, marker, ""); !marked {
		return Comment{}, false, nil
	}
	who, err := viewer()
	if err != nil {
		return Comment{}, false, err
	}
	ours, found = LivingComment(comments, marker, who)
	return ours, found, nil
}
