package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMapping: a map is written as the YAML library writes it.
func TestMapping(t *testing.T) {
	keys := []string{"A", "DATABASE_URL_00", "DATABASE_URL_9", "DATABASE_URL_10", "a.b", "a-b", "a_b", "ab", "aB", "y", "No", "null", "true", "x1", "x01", "x001", "x10a", "x9a", "Z", "_", "1", "<<", "a b", "é", strings.Repeat("k", 200)}
	values := []any{
		"", "word", "two words", "two  words", " word", "word ", "a: b", "a:b", "a :b", "a #b", "a#b", "#", "- a", "-a", "a -b", "a - b", "mysql://a:3306/db", "git@host:path", "/path", "a/",
		"true", "True", "yes", "y", "N", "on", "~", "a~", "null", "nULL", "1", "0", "01", "12345678901234567890", "123456789012345678", "1.5", "1e3", "e3", ".5", "0x1f", "1_000", "12:30:45",
		"2026-01-01", "=", "a=b", "a=", "<<", "!a", "&a", "*a", "%a", "@a", "`a", "'a'", "\"a\"", "{a}", "[a]", "a,b", "a\nb", "a\n", "a\n\n", "\n", "a\tb", "é", "\u2028", "\xff", "?", "? a", ":", "a:", "---", "...",
		strings.Repeat("word ", 100), strings.TrimSpace(strings.Repeat("word ", 1000)), "a ...", "NaN", "inf", "Infinity", "nan", "undefined", "None", strings.Repeat("w", 300), true, false, nil, 1, -1, 0, int64(1 << 60), uint64(1 << 63), 1.5, 1e30,
		[]any{"a", 1},
		map[string]any{"a": "b"},
		map[string]any{},
		[]any{},
	}
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aZ09_./-:@ +~=#'\",\n")
	var m mapping
	written := 0
	for range 30_000 {
		v, texts := map[string]any{}, map[string]string{}
		for range 1 + random.IntN(5) {
			key := keys[random.IntN(len(keys))]
			if random.IntN(4) > 0 {
				key = fmt.Sprintf("k%s%d", string(letters[random.IntN(6)]), random.IntN(200))
			}
			v[key] = values[random.IntN(len(values))]
			if random.IntN(4) == 0 {
				var text strings.Builder
				for range random.IntN(6) {
					text.WriteRune(letters[random.IntN(len(letters))])
				}
				v[key] = text.String()
			}
			texts[key] = fmt.Sprint(v[key])
		}
		for _, v := range []any{v, texts} {
			got, err := m.marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			want, err := marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%#v (-library +written):\n%s", v, diff)
			}
		}
		if _, ok := format(&m, texts, appendPlainText); ok {
			written++
		}
	}
	if written < 10_000 {
		t.Errorf("only %d of 30,000 maps are written without the library", written)
	}
}
