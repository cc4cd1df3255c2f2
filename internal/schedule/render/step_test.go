package render

import (
	"fmt"
	"testing"
)

// TestYAMLSteps: a configuration that is written without reflection is what the template engine writes.
func TestYAMLSteps(t *testing.T) {
	for _, pipeline := range []string{
		"toYaml .ConfigData", ".ConfigData | toYaml", "toYaml $.ConfigData | indent 2", "toYaml .ConfigData | indent 0", ".ConfigData | toYaml | nindent 4",
		"toYaml (stringify .ConfigData) | indent 2", ".ConfigData | stringify | toYaml", "stringify .ConfigData | toYaml | nindent 2", "(stringify (.ConfigData)) | toYaml",
		"toYaml .ConfigData.text", "toYaml .ConfigData.map | indent 4", "toYaml (stringify .ConfigData.map) | nindent 2", "toYaml .ConfigData.list", "toYaml .ConfigData.absent | indent 2",
		"toYaml .ConfigData.map.a", "toYaml .ConfigData | indent 40", "toYaml .ConfigData | indent -1", "toYaml .ConfigData | indent 2 | indent 2", "toYaml .Manifests | indent 2",
	} {
		for _, config := range []map[string]any{
			nil, {}, {"a": "b"}, {"text": "a\nb\n", "map": map[string]any{"a": 1, "b": []any{"c", "d"}}, "list": []any{1, "e"}, "A_10": "x", "A_9": "y"},
		} {
			d := exampleData("t")
			d.ConfigData = config
			var said [2]string
			for i, text := range []string{"{{ " + pipeline + " }}", "{{ $x := " + pipeline + " }}{{ $x }}"} {
				l, parsed := libraryOf(textTemplate("t", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  "+text+"\n"))
				if parsed == nil {
					t.Fatalf("%q cannot be parsed", text)
				}
				out, _, err := l.Worker().Render(parsed, &d)
				said[i] = string(out)
				if err != nil {
					said[i] = "refused" // messages quote the template
				}
			}
			if said[0] != said[1] {
				t.Errorf("%s with %v:\n%s\nwant:\n%s", pipeline, config, said[0], said[1])
			}
		}
	}
	for pipeline, want := range map[string]bool{
		"toYaml .ConfigData": true, "toYaml (stringify .ConfigData.a) | nindent 2": true, "toYaml .Manifests": true, "toYaml .ConfigData | indent 2 | quote": true, "$": false,
	} {
		p, err := compile("{{ " + pipeline + " }}")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.compiled != nil; got != want {
			t.Errorf("%s is written without reflection: %v, want %v", pipeline, got, want)
		}
	}
}

// TestYAMLStepsSayWhere: a mistake is at its line, with the key.
func TestYAMLStepsSayWhere(t *testing.T) {
	l, parsed := libraryOf(textTemplate("t", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  {{ toYaml .ConfigData.absent | indent 2 }}\n"))
	d := exampleData("t")
	_, _, err := l.Worker().Render(parsed, &d)
	slow, slowParsed := libraryOf(textTemplate("t", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  {{ toYaml .ConfigData.absent | indent 2 | print }}\n"))
	_, _, want := slow.Worker().Render(slowParsed, &d)
	if fmt.Sprint(err) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
