package chart_test

import (
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// TestPrintfWritesNoAddresses shows that formats with %p are refused, and that values with pointers are written as text.
func TestPrintfWritesNoAddresses(t *testing.T) {
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local)
	for name, c := range map[string]struct {
		format string
		value  any
		want   string
	}{
		"a number":              {"%03d%%p", 7, "007%p"},
		"a map":                 {"%v", map[string]any{"b": 1, "a": []any{"x"}}, "map[a:[x] b:1]"},
		"a version":             {"%d", []any{semver.MustParse("1.2.3")}, "%!d(string=[1.2.3])"},
		"a time":                {"%x", map[string]any{"day": day}, "6d61705b6461793a"},
		"an address":            {"%p", map[string]any{}, "printf: %p would print an address"},
		"an address with flags": {"a %-[1]p", []any{}, "printf: %-[1]p would print an address"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			parsed := template.Must(template.New("").Funcs(template.FuncMap{"printf": chart.Printf}).Parse(`{{ printf .Format .Value }}`))
			err := parsed.Execute(&out, map[string]any{"Format": c.format, "Value": c.value})
			if err != nil {
				out.WriteString(err.Error())
			}
			if got := out.String(); !strings.Contains(got, c.want) || strings.Contains(got, "0xc0") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
