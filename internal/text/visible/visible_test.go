package visible_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/text/visible"
)

func Example() {
	fmt.Println(visible.Text("image: registry.example.com/\u202etoob\u202c # safe\u200b"))
	fmt.Println(visible.Line("several\n\tlines"))
	// Output:
	// image: registry.example.com/⟨U+202E⟩toob⟨U+202C⟩ # safe⟨U+200B⟩
	// several lines
}

func TestText(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"other scripts, symbols and accents stay": {"wäb größer 東京 ≥ 3 עברית e\u0301\n", "wäb größer 東京 ≥ 3 עברית e\u0301\n"},
		"lines and tabs stay":                     {"kind: Pod\n\tname: a\r\nb\r", "kind: Pod\n\tname: a\r\nb\r"},
		"a line is not overwritten":               {"safe\rbad", "safe⟨U+000D⟩bad"},
		"codes for terminals":                     {"a\x00\x1b[31m\x7f\u0085\u009b", "a⟨U+0000⟩⟨U+001B⟩[31m⟨U+007F⟩⟨U+0085⟩⟨U+009B⟩"},
		"turns of the direction":                  {"gnp.\u202eyaml \u2066\u200f\u061c", "gnp.⟨U+202E⟩yaml ⟨U+2066⟩⟨U+200F⟩⟨U+061C⟩"},
		"no width":                                {"\ufeffa\u200bb\u2060c\u00add", "⟨U+FEFF⟩a⟨U+200B⟩b⟨U+2060⟩c⟨U+00AD⟩d"},
		"lines that are none":                     {"a\u2028b\u2029c\vd\fe", "a⟨U+2028⟩b⟨U+2029⟩c⟨U+000B⟩d⟨U+000C⟩e"},
		"spaces that are none to YAML":            {"key:\u00a0a\u3000b", "key:⟨U+00A0⟩a⟨U+3000⟩b"},
		"blanks that are letters and symbols":     {"a\u3164b\u115fc\u2800d\u034fe\uffa0", "a⟨U+3164⟩b⟨U+115F⟩c⟨U+2800⟩d⟨U+034F⟩e⟨U+FFA0⟩"},
		"tags and what is not assigned":           {"a\U000e0041b\ue000c\ufff0", "a⟨U+E0041⟩b⟨U+E000⟩c⟨U+FFF0⟩"},
		"bytes that are no text":                  {"a\xffb", "a\ufffdb"},
		"pictures that are drawn as one":          {"👩\u200d🚀 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 ☀\ufe0e", "👩\u200d🚀 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 ☀\ufe0e"},
		"letters that are joined":                 {"می\u200cخواهم ක්\u200dය", "می\u200cخواهم ක්\u200dය"},
		"joiners that join nothing":               {"na\u200dme ü\u200cx ☀\u200d \u200d☀", "na⟨U+200D⟩me ü⟨U+200C⟩x ☀⟨U+200D⟩ ⟨U+200D⟩☀"},
		"messages in variations":                  {"☀\ufe0f\ufe0f\ufe00a\ufe0f名\U000e0100", "☀\ufe0f⟨U+FE0F⟩⟨U+FE00⟩a⟨U+FE0F⟩名⟨U+E0100⟩"},
	} {
		if got := visible.Text(tc.text); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("kind: Pod\r\n")
	f.Add("\u202e\u200d\ufe0f\xff\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		got := visible.Text(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && !strings.ContainsRune("\n\t\r", r)
		}) {
			t.Errorf("%q is shown as %q", text, got)
		}
		if again := visible.Text(got); again != got {
			t.Errorf("not stable: %q, then %q", got, again)
		}
		if line := visible.Line(text); strings.ContainsAny(line, "\n\t\r") {
			t.Errorf("%q has lines", line)
		}
	})
}

func BenchmarkText(b *testing.B) {
	page := strings.Repeat("<td class=\"good\">✓ ready 1.4.2 on 12</td>\n", 5000)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		visible.Text(page)
	}
}
