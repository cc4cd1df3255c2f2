package syntax

import (
	"slices"
	"strings"
)

// scanner splits a text into tokens. It looks at each line once, so it takes time in proportion to the text.
type scanner struct {
	*language
	rest string
	// last is the character before rest, and start is set if only spaces and dashes are before it on its line.
	last  byte
	start bool
	// tag is set between < and >.
	tag bool
}

// next returns the class and the length of the next token, which is not empty.
func (s *scanner) next() (string, int) {
	for _, c := range s.blocks {
		if strings.HasPrefix(s.rest, c[0]) {
			return comment, s.until(c[0], c[1])
		}
	}
	line, _, _ := strings.Cut(s.rest, "\n")
	for _, c := range s.comments {
		if strings.HasPrefix(line, c) && (c != "#" || s.last == 0 || isSpace(s.last)) {
			return comment, len(line)
		}
	}
	if s.start {
		if n := s.heading(line); n > 0 {
			return keyword, n
		}
		if n := s.key(line); n > 0 {
			return name, n
		}
	}
	switch c := s.rest[0]; {
	case s.markup && (c == '<' || c == '>'):
		s.tag = c == '<'
		return plain, 1
	case strings.IndexByte(s.quotes, c) >= 0 && !isWord(s.last) && (!s.markup || s.tag):
		if n := s.quotation(line, c); n > 0 {
			if s.json && strings.HasPrefix(strings.TrimLeft(line[min(n, len(line)):], " "), ":") {
				return name, n
			}
			return quoted, n
		}
	case isWord(c):
		return s.word()
	}
	return plain, 1
}

func (s *scanner) advance(n int) {
	for _, c := range []byte(s.rest[:n]) {
		s.start = c == '\n' || s.start && (c == ' ' || c == '\t' || c == '-' && s.keys == ":")
	}
	s.last, s.rest = s.rest[n-1], s.rest[n:]
}

// until returns the length of a comment that begins and ends with these texts, or with the text.
func (s *scanner) until(open, end string) int {
	if i := strings.Index(s.rest[len(open):], end); i >= 0 {
		return len(open) + i + len(end)
	}
	return len(s.rest)
}

// heading returns the length of a heading of Markdown.
func (s *scanner) heading(line string) int {
	text := strings.TrimLeft(line, "#")
	if !s.headings || len(text) == len(line) || !strings.HasPrefix(text, " ") {
		return 0
	}
	return len(line)
}

// key returns the length of a name at the beginning of a line that is followed by one of the language's signs.
func (s *scanner) key(line string) int {
	if s.keys == "" {
		return 0
	}
	n := 0
	for n < len(line) && (isWord(line[n]) || strings.IndexByte("./-", line[n]) >= 0) {
		n++
	}
	after := strings.TrimLeft(line[n:], " ")
	if n == 0 || after == "" || strings.IndexByte(s.keys, after[0]) < 0 {
		return 0
	}
	if after[0] == ':' && len(after) > 1 && !isSpace(after[1]) {
		return 0 // the colon of a URL or an image
	}
	return n
}

// quotation returns the length of a quotation; 0 if it does not end on its line, unless it may span lines.
func (s *scanner) quotation(line string, quote byte) int {
	text := line
	if quote == '`' && s.raw {
		text = s.rest
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}

// word returns a keyword, a number, or another word.
func (s *scanner) word() (string, int) {
	n := 1
	for n < len(s.rest) && (isWord(s.rest[n]) || isDigit(s.rest[0]) && s.rest[n] == '.') {
		n++
	}
	switch text := s.rest[:n]; {
	case s.markup && s.tag:
		return name, n
	case s.markup || s.headings || isWord(s.last) || s.last == '.' || s.last == '-':
	case strings.IndexByte(":/@%", s.last) >= 0 && s.keys == ":": // in YAML, a part of a URL, a time or an image
	case isDigit(text[0]) && strings.Count(text, ".") < 2 && strings.Trim(text, "0123456789._xabcdefABCDEF") == "":
		return number, n
	case slices.Contains(s.keywords, text):
		return keyword, n
	}
	return plain, n
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c >= 0x80
}
