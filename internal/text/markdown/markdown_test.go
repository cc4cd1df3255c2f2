package markdown_test

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

func Example() {
	fmt.Println(markdown.Escape("<b>@team</b> closes #1"))
	fmt.Println(markdown.Code("a|b"))
	fmt.Println(markdown.Block("diff", "+ # fixes\n"))
	// Output:
	// &lt;b&gt;@&#8203;team&lt;/b&gt; closes #&#8203;1
	// `a\|b`
	// ```diff
	// + # fixes
	// ```
}

const hash = "0fcd8aa9fa1a20aed79b86139925ab323e4e2a9f"

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"metadata.name is not a DNS label":   "metadata.name is not a DNS label",
		"replicas: 3 (config.yaml:6:12)":     "replicas: 3 (config.yaml:6:12)",
		"spec.list[0] is 10% of 7, or -1!":   `spec.list\[0\] is 10% of 7, or -1!`,
		"!12 and group/project!12, $3 & &4":  "!&#8203;12 and group/project!&#8203;12, $&#8203;3 &amp; &amp;&#8203;4",
		"GH-12 gh-12 ABC-1 X_1-2 a-1":        "GH-&#8203;12 gh-&#8203;12 ABC-&#8203;1 X\\_1-&#8203;2 a-1",
		"org/repo#12 AB#3":                   "org/repo#&#8203;12 AB#&#8203;3",
		`~bug ~"a b" %v1 %"v 1"`:             "\\~&#8203;bug \\~&#8203;\"a b\" %&#8203;v1 %&#8203;\"v 1\"",
		"[[Home]] [vulnerability:1]":         `\[&#8203;\[Home\]\] \[&#8203;vulnerability:1\]`,
		":tada::+1: a:b:c x:100:3":           ":&#8203;tada::&#8203;+1: a:&#8203;b:c x:&#8203;100:3",
		"commit " + hash + ", 1234567 bytes": "commit `" + hash + "`, 1234567 bytes",
		"0fcd8aa 1fcd8aa":                    "`0fcd8aa` `1fcd8aa`",
		"dev@0fcd8aa pod-5d4f8c7b9-x":        "dev@&#8203;0fcd8aa pod-5d4f8c7b9-x",
		"/close":                             "\\/close",
		" \n- item":                          "\\- item",
		"12. item":                           "12\\. item",
		"===":                                "\\===",
		"two\nlines\u202e":                   "two lines⟨U+202E⟩",
	} {
		if got := markdown.Escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCodeHidesAndClosesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"a\u202eb":                            "`a⟨U+202E⟩b`",
		"fixes #12":                           "`fixes\u200b #12`",
		"Closes: group/project#12":            "`Closes:\u200b group/project#12`",
		"resolve issue https://example.com/1": "`resolve\u200b issue https://example.com/1`",
		"implements ABC-12":                   "`implements\u200b ABC-12`",
		"colour: #123 # fix it":               "`colour: #123 # fix it`",
		"closes the door":                     "`closes the door`",
	} {
		if got := markdown.Code(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := markdown.Rejoin(markdown.Code(text)); strings.Contains(got, "\u200b") {
			t.Errorf("%q is not joined again: %q", text, got)
		}
		if got := markdown.Block("", text); got != "```\n"+strings.Trim(want, "`")+"\n```" {
			t.Errorf("%q as a block: got %q", text, got)
		}
	}
}

func TestBlockEndsWhereItShould(t *testing.T) {
	if got, want := markdown.Block("text", "a\n```\n````b"), "`````text\na\n```\n````b\n`````"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"Fix the port (config.yaml:3)": "Fix the port (config.yaml:3)",
		"@all closes #1, !2 and GH-3":  "@\u200ball closes #\u200b1, !\u200b2 and GH-\u200b3",
		"two\nlines \u202e":            "two lines ⟨U+202E⟩",
	} {
		if got := markdown.Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

var (
	// linked matches what some forge turns into a reference, in rendered text outside of code.
	linked = regexp.MustCompile(`@\w|[#!$]\d|&\d|(?i:\bgh-\d)|://|www\.|\[\[`)
	inCode = regexp.MustCompile(`(?s)<code>.*?</code>`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// Whatever the text is, it is displayed as a paragraph, without a reference.
func FuzzEscape(f *testing.F) {
	for _, text := range []string{"a\nb", "# x", "- x", "1) x", "[a](https://b.c) @d #1 !2", "<!-- x", "`` ` ``", "~~~", "GH-1 " + hash, "\\`a", "a  \nb", "\ue000a\u200b", "[[[["} {
		f.Add(text)
	}
	m := goldmark.New(goldmark.WithExtensions(extension.GFM))
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		escaped := markdown.Escape(text)
		if err := m.Convert([]byte(escaped), &out); err != nil {
			t.Fatal(err)
		}
		shown := out.String()
		if escaped != "" && (strings.Count(shown, "<p>") != 1 || strings.Contains(escaped, "\n")) {
			t.Errorf("%q is shown as %q", text, shown)
		}
		plain := tags.ReplaceAllString(inCode.ReplaceAllString(shown, ""), "")
		if found := linked.FindString(html.UnescapeString(plain)); found != "" || strings.Contains(shown, "<a ") {
			t.Errorf("%q refers to something: %q in %q", text, found, shown)
		}
	})
}
