package forge

import "strings"

// Limits are how many characters a forge takes at most; 0 means no limit.
type Limits struct {
	Title             int
	Body              int // of pull requests and issues
	Comment           int
	StatusDescription int
}

// Cut returns a text of at most limit characters, with an ellipsis where something was cut. 0 means no limit.
// It never cuts within a character.
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

// OneLine makes a title of a text: titles have no line breaks and no spaces at their ends.
func OneLine(text string, limit int) string {
	return Cut(strings.Join(strings.Fields(text), " "), limit)
}
