package forge

import "strings"

// Limits are the maximum lengths of texts in characters; 0 means no limit.
type Limits struct {
	Title             int
	Body              int // of pull requests and issues
	Comment           int
	StatusDescription int
}

// Cut shortens a text to limit characters, with an ellipsis at its end; 0 means no limit.
func Cut(text string, limit int) string {
	if limit <= 0 || len(text) <= limit {
		return text
	}
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return strings.TrimRight(string(runes[:limit-1]), " \n") + "…"
}

// OneLine joins the lines of a text and shortens it to limit characters.
func OneLine(text string, limit int) string {
	return Cut(strings.Join(strings.Fields(text), " "), limit)
}
