package render

import "strings"

// mistakes are what the parser says of texts that do not parse, as far as it is known what to do about it.
var mistakes = []struct{ said, hint string }{
	{"unexpected EOF", "an {{ if }}, {{ with }}, {{ range }} or {{ define }} before it has no {{ end }}: add it"},
	{"unexpected {{end}}", "take it out, or begin what it ends with {{ if }}, {{ with }}, {{ range }} or {{ define }}"},
	{"unexpected {{else}}", "take it out, or begin what it belongs to with {{ if }}, {{ with }} or {{ range }}"},
	{"expected end; found {{else}}", "take it out: only one {{ else }} may stand before {{ end }}"},
	{"missing value for command", "write what to print between the braces, as in {{ .Namespace }}"},
	{"missing value for ", "write what it is about behind it, as in {{ if .Workspace }}"},
	{"unclosed action", "close it with }}"},
	{`unexpected "}" in `, "close it with two braces: }}"},
	{`unexpected "{" in `, "close the one before with }} before another begins"},
	{`unexpected "=" in `, `compare with eq, as in {{ if eq .Environment "dev" }}`},
	{"undefined variable ", "declare it before it is used, as in {{ $name := .Workload }}"},
	{"bad character ", `a key with other characters than letters, digits and "_" is read by {{ index .Labels "app-name" }}`},
	{"malformed character constant", `put texts in double quotes: "`},
	{"unterminated character constant", `put texts in double quotes: "`},
	{"unterminated quoted string", `close it with " on the same line`},
	{"unterminated raw quoted string", "close it with `"},
	{"unclosed left paren", "close it with )"},
	{"unexpected right paren", "take it out, or open it with ("},
}

// mistakeHint says what to do about a text of which the parser says this; empty when that is not known.
func mistakeHint(message string) string {
	for _, m := range mistakes {
		if strings.HasPrefix(message, m.said) {
			return m.hint
		}
	}
	return ""
}
