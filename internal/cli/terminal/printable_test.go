package terminal

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"plain text stays", "drone hello-world-app/functional-test", "drone hello-world-app/functional-test"},
		{"other scripts stay", "größer 東京 ≥ 3", "größer 東京 ≥ 3"},
		{"backslashes and quotes stay", `C:\x "y"`, `C:\x "y"`},
		{"colours are not obeyed", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"one-byte escape sequences neither", "\u009b31m", `\u009b31m`},
		{"lines cannot be added", "held\n+ drone", `held\n+ drone`},
		{"or overwritten", "held\rok\b\b", `held\rok\b\b`},
		{"the direction cannot be turned", "a\u202elmay.z", `a\u202elmay.z`},
		{"invisible characters show", "dro\u200bne", `dro\u200bne`},
		{"letters and marks that are blank show", "a\u3164b\ufe0fc", `a\u3164b\ufe0fc`},
		{"bytes that are no text show", "a\xffb", `a\xffb`},
		{"the replacement character is text", "a\ufffdb", "a\ufffdb"},
	} {
		if got := Printable(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestPrintableTextKeepsLines(t *testing.T) {
	in := "kind: a\n\tb\r\n\x1b[2J"
	if got, want := PrintableText(in), "kind: a\n\tb\\r\n\\x1b[2J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]8;;http://evil\x07link")
	f.Add("\u202e\xc0\xaf")
	f.Fuzz(func(t *testing.T, in string) {
		got := Printable(in)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("printable(%q) is %q", in, got)
		}
		if again := Printable(got); again != got {
			t.Errorf("not stable: %q, then %q", got, again)
		}
	})
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"fleet":        "fleet",
		"../a_b/c.d":   "../a_b/c.d",
		"my fleet":     "'my fleet'",
		"it's $(here)": `'it'\''s $(here)'`,
		"":             "''",
	} {
		if got := ShellWord(in); got != want {
			t.Errorf("shellWord(%q) is %s, want %s", in, got, want)
		}
	}
}
