package render

import "strings"

// mistakes maps prefixes of the parser's messages to hints.
var mistakes = []struct{ prefix, hint string }{
	{"unexpected EOF", "add the missing {{ end }} of an {{ if }}, {{ with }}, {{ range }} or {{ define }}"},
	{"unexpected {{end}}", "remove it, or add its {{ if }}, {{ with }}, {{ range }} or {{ define }}"},
	{"unexpected {{else}}", "remove it, or add its {{ if }}, {{ with }} or {{ range }}"},
	{"expected end; found {{else}}", "remove it: only one {{ else }} is allowed before {{ end }}"},
	{"missing value for command", "write what to print between the braces, as in {{ .Namespace }}"},
	{"missing value for ", "add the value, as in {{ if .Workspace }}"},
	{"unclosed action", "close it with }}"},
	{`unexpected "}" in `, "close it with two braces: }}"},
	{`unexpected "{" in `, "close the previous one with }} first"},
	{`unexpected "=" in `, `compare with eq, as in {{ if eq .Environment "dev" }}`},
	{"undefined variable ", "declare it before its first use, as in {{ $name := .Workload }}"},
	{"bad character ", `read a key with characters other than letters, digits and "_" with index: {{ index .Labels "app-name" }}`},
	{"malformed character constant", `put strings in double quotes: "`},
	{"unterminated character constant", `put strings in double quotes: "`},
	{"unterminated quoted string", `close it with " on the same line`},
	{"unterminated raw quoted string", "close it with `"},
	{"unclosed left paren", "close it with )"},
	{"unexpected right paren", "remove it, or open it with ("},
}

// mistakeHint returns the hint for a message of the parser, or "".
func mistakeHint(message string) string {
	for _, m := range mistakes {
		if strings.HasPrefix(message, m.prefix) {
			return m.hint
		}
	}
	return ""
}
