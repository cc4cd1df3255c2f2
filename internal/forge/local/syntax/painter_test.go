package syntax

import (
	"context"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
	"testing"
)

func ExamplePainter_Lines() {
	for _, line := range New(context.Background()).Lines("deploy.yaml", "image: \"<web>\" # pinned\nreplicas: 2\n") {
		fmt.Println(line)
	}
	// Output:
	// <span class="c-name">image</span>: <span class="c-string">&#34;&lt;web&gt;&#34;</span> <span class="c-comment"># pinned</span>
	// <span class="c-name">replicas</span>: <span class="c-number">2</span>
}

func TestWhatStaysWithoutColours(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	used := New(t.Context())
	for range MaxPage / MaxText {
		used.Lines("a.tpl", strings.Repeat("a: b\n", MaxText/5))
	}
	for name, tc := range map[string]struct {
		painter    *Painter
		file, text string
	}{
		"a large text":              {New(t.Context()), "a.yaml", strings.Repeat("a: b\n", MaxText/5+1)},
		"a long line":               {New(t.Context()), "a.yaml", "a: b\nb: " + strings.Repeat("c", MaxLine) + "\n"},
		"a file of no language":     {New(t.Context()), "CODEOWNERS", "* @ada\n"},
		"a request that ended":      {New(ended), "a.yaml", "a: b\n"},
		"what is beyond the page's": {used, "a.yaml", strings.Repeat("a: b\n", 1000)},
	} {
		if got := tc.painter.Lines(tc.file, tc.text); got != nil {
			t.Errorf("%s has colours: %.200q", name, got)
		}
	}
}

func TestLanguages(t *testing.T) {
	for file, tc := range map[string][2]string{
		"url.yaml":      {"a: mysql://west:8806/db", `: mysql://west:8806/db`},
		"values.yaml":   {"a: true", `<span class="c-keyword">true</span>`},
		"x.json":        {`{"a": 1.5}`, `<span class="c-number">1.5</span>`},
		"run.sh":        {"# hi\necho \"$x\"", `<span class="c-comment"># hi</span>`},
		"main.go":       {"func main() {}", `<span class="c-keyword">func</span>`},
		"_helpers.tpl":  {`{{ define "x" }}`, `<span class="c-string">&#34;x&#34;</span>`},
		"Dockerfile":    {"FROM scratch", `<span class="c-keyword">FROM</span>`},
		"README.md":     {"# Shop\n", `<span class="c-keyword"># Shop</span>`},
		"folder/x.toml": {"a = 'b'", `<span class="c-string">`},
	} {
		var all []string
		for _, line := range New(t.Context()).Lines(file, tc[0]) {
			all = append(all, string(line))
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, tc[1]) {
			t.Errorf("%s: got %s", file, got)
		}
	}
}

var tag = regexp.MustCompile(`</?span( class="c-[a-z]+")?>`)

// Without its tags, the output equals the text.
func FuzzLines(f *testing.F) {
	for _, text := range []string{
		"", "\n", "a: b", "a: |\n  <script>\n\r\n--- !x &y *z\n", "<a href='x'>&amp;</a>", "{{ .Values.x | quote }}", "\"unclosed\n'too", "\x00\xff\u2028",
		"```go\nfunc\n```\n# h", "#!/bin/sh\ncat <<EOF\n$(x)\nEOF", "\t\t: - ? [", "key: >-\n\n\n", "</span><span class=\"c-evil\">",
	} {
		for i := range files {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, file uint8, text string) {
		got := New(t.Context()).Lines(files[int(file)%len(files)], text)
		if got == nil {
			return
		}
		i := 0
		for want := range strings.Lines(text) {
			want = strings.ReplaceAll(want, "\uFFFD", "\x00") // HTML cannot say U+0000, and shows U+FFFD instead
			if is := untagged(t, got[i]); is != strings.TrimSuffix(want, "\n") {
				t.Fatalf("line %d is %q, want %q: %s", i+1, is, want, got[i])
			}
			i++
		}
		if i != len(got) {
			t.Fatalf("%d lines of %d: %q", len(got), i, text)
		}
	})
}

var files = []string{"a.yaml", "a.json", "a.md", "a.sh", "a.go", "a.tpl", "Dockerfile", "a.html", "a.xml", "Makefile", "a.toml", "a.hcl", "a.py"}

// untagged removes our tags. Any other tag is text that was not escaped.
func untagged(t *testing.T, line template.HTML) string {
	rest := tag.ReplaceAllString(string(line), "")
	if strings.ContainsAny(rest, "<>\"'") {
		t.Fatalf("not escaped: %s", line)
	}
	return strings.ReplaceAll(html.UnescapeString(rest), "\uFFFD", "\x00")
}

func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("      - name: web\n        image: \"registry.example.com/web:1.2.3\" # pinned\n        ports: [80, 443]\n", 300)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if New(b.Context()).Lines("deploy.yaml", text) == nil {
			b.Fatal("no colours")
		}
	}
}
