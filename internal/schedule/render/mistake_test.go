package render

import (
	"errors"
	"strings"
	"testing"
)

// The parser's words change with Go's releases: each of these texts must still be recognized.
func TestMistakesSayWhatToDo(t *testing.T) {
	for _, test := range []struct{ text, hint string }{
		{"{{ if .x }}", "{{ end }}"},
		{"{{ end }}", "remove it"},
		{"{{ else }}", "remove it"},
		{"{{ if .x }}{{ else }}{{ else }}{{ end }}", "only one"},
		{"{{ }}", "what to print"},
		{"{{ if }}", "{{ if .Workspace }}"},
		{"{{ with }}{{ end }}", "{{ if .Workspace }}"},
		{"{{ .x", "}}"},
		{"{{ .x }", "two braces"},
		{"{{ .x {{ .y }}", "the previous one"},
		{"{{ .x == 3 }}", "eq"},
		{"{{ $x }}", "declare"},
		{"{{ .Labels.a-b }}", "index"},
		{"{{ 'ab' }}", "double quotes"},
		{"{{ 'a }}", "double quotes"},
		{`{{ "a }}`, "same line"},
		{"{{ `a }}", "`"},
		{"{{ (.x }}", ")"},
		{"{{ .x ) }}", "("},
		{"{{ Qqqqqqqq }}", "string in quotes"},
	} {
		_, err := compile(test.text)
		var mistake *syntaxError
		if !errors.As(err, &mistake) {
			t.Errorf("%s: got %v, want a syntax error", test.text, err)
			continue
		}
		if !strings.Contains(mistake.hint, test.hint) {
			t.Errorf("%s: %s; hint %q, want %q in it", test.text, mistake.message, mistake.hint, test.hint)
		}
	}
}
