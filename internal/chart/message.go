package chart

import (
	"errors"
	"strings"
)

// messageStart and messageEnd are how many bytes of a library's error are kept. Errors end with their cause.
const (
	messageStart = 300
	messageEnd   = 700
)

// plain shortens an error of a library to one line.
func plain(err error) error {
	return errors.New(Shorten(strings.Join(strings.Fields(err.Error()), " "), messageStart, messageEnd))
}

// Shorten keeps a number of bytes at the start and at the end of a text.
func Shorten(text string, start, end int) string {
	if len(text) <= start+end {
		return text
	}
	return strings.ToValidUTF8(text[:start], "") + "..." + strings.ToValidUTF8(text[len(text)-end:], "")
}
