package engine_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// An error in a text for tpl has its cause, however long the text is, and no names of functions that are inserted.
func TestErrorsInTextsForTpl(t *testing.T) {
	long := strings.Repeat("some long text with \\\"quotes\\\": ", 100)
	for name, tc := range map[string]struct{ value, want string }{
		"function":   {long + "{{ nosuch }}", `function "nosuch" not defined`},
		"end":        {long + "{{ if }}", "missing value for if"},
		"required":   {long + "{{ required \\\"give a tag\\\" nil }}", "give a tag"},
		"no such":    {long + "{{ .Values.one.two.three }}", "nil pointer evaluating"},
		"in a loop":  {"{{ range list 1 2 }}" + long + "{{ include \\\"none\\\" . }}{{ end }}", `no template "none"`},
		"not a text": {"", ""},
	} {
		value := `one: {}` + "\ntext: \"" + tc.value + "\""
		template := printing(`{{ tpl (printf "%s" .Values.text) . }}`)
		if name == "not a text" {
			value, template, tc.want = "text: {a: 1}", printing(`{{ tpl .Values.text . }}`), "expected string"
		}
		job := oneTemplate(template, chart.File{Path: "values.yaml", Content: []byte(value)})
		got := showProblems(engine.Run(job, nil).Targets[0].Problems)
		t.Log(got)
		if !strings.Contains(got, tc.want) || strings.Contains(got, "kalypso") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
