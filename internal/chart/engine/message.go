package engine

import (
	"errors"
	"regexp"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// maxMessage is how many bytes of a library's error are shown, and maxText how many of a text for tpl in it.
const (
	maxMessage = 1000
	maxText    = 60
)

// quotedText matches the text for tpl that Helm repeats in its errors, before the cause.
var quotedText = regexp.MustCompile(`(cannot parse template|tpl function execution for) "((?:[^"\\]|\\.)*)"`)

// guardCall matches the calls that guard inserts.
var guardCall = regexp.MustCompile(`\{\{(?:- )?(?:` + strings.Join([]string{guardStep, guardEnter, guardLeave}, "|") + `)(?: \d+)?(?: -)?\}\}`)

// plain shortens an error of a library to one line, in the terms of the chart's author. The end of a long message is kept, because
// errors end with their cause.
func plain(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = unguarded(guardCall.ReplaceAllString(text, ""))
	text = quotedText.ReplaceAllStringFunc(text, func(found string) string {
		parts := quotedText.FindStringSubmatch(found)
		return parts[1] + ` "` + chart.Shorten(parts[2], maxText, 0) + `"`
	})
	return errors.New(chart.Shorten(text, maxMessage/3, maxMessage-maxMessage/3))
}

// unguarded removes the calls around the operands of tpl.
func unguarded(text string) string {
	const call = "(" + guardText + " "
	for {
		at := strings.Index(text, call)
		if at < 0 {
			return text
		}
		end := operandEnd(text, at+len(call))
		text = text[:at] + text[at+len(call):end] + strings.TrimPrefix(text[end:], ")")
	}
}
