package forge

import (
	"context"
	"strings"
	"time"
)

// Label is a label of a repository.
type Label struct {
	Name string // required
	// Color is six hexadecimal digits; it defaults to [DefaultColor].
	Color       string
	Description string
}

// DefaultColor is a light grey.
const DefaultColor = "ededed"

// Comment is a comment on a pull request.
type Comment struct {
	// ID identifies it on the forge.
	ID     string
	Author string
	Body   string
	// URL leads to it on the page of the pull request; optional.
	URL       string
	CreatedAt time.Time
}

// Mark appends a marker to a text, on a line of its own that pages do not show, unless the text has it.
// It cuts the text before the marker to keep the limit; 0 means no limit.
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

// Marked reports whether a text has a marker as a whole line. Quoted markers do not count.
func Marked(text, marker string) bool {
	want := markerLine(marker)
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\r\n") == want {
			return true
		}
	}
	return false
}

// markerLine returns an HTML comment, which pages do not show. It splits "--" in the marker, which would end the comment.
func markerLine(marker string) string {
	marker = strings.Join(strings.Fields(marker), " ")
	for strings.Contains(marker, "--") {
		marker = strings.ReplaceAll(marker, "--", "- -")
	}
	return "<!-- " + strings.ReplaceAll(marker, ">", "") + " -->"
}

// MarkedComment returns the oldest comment with a marker; two servers at once may have written several.
// It considers comments of author only; an empty author means all accounts.
func MarkedComment(comments []Comment, marker, author string) (Comment, bool) {
	for _, c := range comments {
		if Marked(c.Body, marker) && (author == "" || strings.EqualFold(c.Author, author)) {
			return c, true
		}
	}
	return Comment{}, false
}

// UpsertComment implements [Comments.UpsertComment] for a forge. write creates a comment, or edits the one with an id;
// w remembers those that were created.
func UpsertComment(ctx context.Context, f interface {
	Viewer
	Limits() Limits
}, w *Written, r interface {
	Comments
	ID() ID
}, number int, marker, body string, write func(id, body string) (Comment, error),
) (Comment, error) {
	body = Mark(body, marker, f.Limits().Comment)
	all, err := r.Comments(ctx, number)
	if err != nil {
		return Comment{}, err
	}
	if _, marked := MarkedComment(all, marker, ""); !marked {
		return w.Upsert(r.ID(), number, marker, body, write)
	}
	viewer, err := f.Viewer(ctx)
	if err != nil {
		return Comment{}, err
	}
	ours, found := MarkedComment(all, marker, viewer)
	if found && strings.TrimSpace(ours.Body) == strings.TrimSpace(body) {
		return ours, nil
	}
	return write(ours.ID, body)
}
