package engine

import (
	"strings"
	"testing"
	"text/template"
)

// Any text is refused, or is not a template, or has a guard in every loop, template and tpl,
// and still prints the same.
func FuzzGuard(f *testing.F) {
	for _, text := range []string{
		"", "text", "{{ range . }}x{{ end }}", "{{- range . -}} x {{- else -}} y {{- end -}}", `{{ define "a" }}b{{ end }}{{ template "a" }}`,
		`{{ tpl "a" . }}`, "{{ tpl `}}` . }}", `{{ tpl (print "a" ("b")) . | print }}`, "{{/* }} */}}", `{{ "{{" }}`, "{{ '\\'' }}", "{{ tpl }}",
		"{{ if true }}{{ range 3 }}{{ break }}{{ end }}{{ end }}", `{{ block "a" . }} {{ end }}`, "{{ $x.tpl }}", "{{ kalypsoStep 1 }}", "{{ tpl tpl . }}",
		"{{ tpl $x | print }}", "{{ (tpl (tpl . .) .).x }}", "{{/*", "{{ range", "{{", "}}", "{{-}}", "{{- -}}", "{{ tpl\n.\n. }}", "{{ with . }}{{ end }}{{ end }}",
	} {
		f.Add(text)
	}
	functions := template.FuncMap{
		"tpl": func(text string, _ any) string { return "<" + text + ">" }, guardText: func(text string) string { return text },
		guardStep: func(int) string { return "" }, guardEnter: func(int) string { return "" }, guardLeave: func() string { return "" },
	}
	run := func(text string) (string, bool) {
		t, err := template.New("x").Funcs(functions).Parse(text)
		if err != nil {
			return "", false
		}
		var b strings.Builder
		err = t.Execute(&limited{&b, 1 << 16}, []any{"a", "b"})
		return b.String(), err == nil
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 || strings.Contains(text, "000") || strings.Contains(text, "e") && strings.Contains(text, "range") && strings.ContainsAny(text, "456789xX") {
			return // loops over large numbers take long
		}
		guarded, err := guard(text)
		if err != nil {
			return
		}
		if _, wrong := trees(text); wrong != nil {
			if guarded != text {
				t.Errorf("%q does not parse and became %q", text, guarded)
			}
			return
		}
		if !audited(guarded) {
			t.Fatalf("%q became %q, which is not guarded", text, guarded)
		}
		want, ok := run(text)
		if got, alsoOK := run(guarded); ok && (got != want || !alsoOK) {
			t.Errorf("%q printed %q, and %q prints %q", text, want, guarded, got)
		}
	})
}

// limited stops a template that prints too much.
type limited struct {
	b    *strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errUnguarded
	}
	return l.b.Write(p)
}

// The audit refuses a text in which the scanner misses something.
func TestGuardRefusesWhatItCannotSee(t *testing.T) {
	for _, text := range []string{
		`{{ range . }}{{ end }}`, `{{kalypsoEnter 1}}{{ range . }}{{ end }}{{kalypsoLeave}}`, `{{kalypsoEnter 1}}{{ tpl . . }}{{kalypsoLeave}}`,
		`{{kalypsoEnter 1}}{{ if tpl . . }}{{ end }}{{kalypsoLeave}}`, `{{kalypsoEnter 1}}{{ (print (tpl . .)).x }}{{kalypsoLeave}}`,
		`{{kalypsoEnter 1}}{{ kalypsoLeave }}{{ print kalypsoLeave }}{{kalypsoLeave}}`, `{{ define "a" }}x{{ end }}`, `x`, `{{`,
		`{{kalypsoEnter 1}}{{ template "a" (tpl . .) }}{{kalypsoLeave}}`, `{{kalypsoEnter 1}}{{ with . }}{{ else }}{{ range . }}{{ end }}{{ end }}{{kalypsoLeave}}`,
		`{{kalypsoEnter 1}}{{ tpl (kalypsoText (tpl . .)) . }}{{kalypsoLeave}}`, `{{$x := kalypsoEnter 1}}x{{kalypsoLeave}}`,
	} {
		if audited(text) {
			t.Errorf("%s is taken for guarded", text)
		}
	}
	if !audited(`{{kalypsoEnter 1}}{{ range . }}{{kalypsoStep 1}}{{ tpl (kalypsoText .) . }}{{ end }}{{kalypsoLeave}}`) {
		t.Error("a guarded text is not taken for one")
	}
}
