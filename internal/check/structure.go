package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
)

// structures keep the manifests of texts that differ only in words: the files of a fleet are made from few templates, and parsing them
// takes longer than all rules. It is safe for concurrent use.
type structures struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*structure
	size  int // of the outlines
}

// structure is a text whose words are marks, as the parser reads it. A text with the same structure is read by replacing the marks.
type structure struct {
	text []byte
	mark string

	mu     sync.Mutex
	seen   bool // a first text has it; only for a second one it is parsed
	parsed bool // texts are always parsed
	free   []*form
}

// form is a parsed structure with the place of each word.
type form struct {
	manifests []*manifest
	places    []func(word string)
}

// Bounds of what is kept. Texts beyond them are parsed.
const (
	maxStructures    = 1 << 14
	maxStructureSize = 1 << 14
	// maxOutlines bounds the size of all outlines in bytes. What was parsed takes about thirty times as much memory, for each core.
	maxOutlines = 8 << 20
)

// clean reports whether nothing is wrong with the manifests of a text, according to a function that must not keep them. If it reports false,
// the text has to be parsed: something is wrong, or its structure is not known. What is wrong with one text is mostly wrong with all
// of the same structure, so that the next ones are parsed at once.
func (s *structures) clean(text []byte, fine func([]*manifest) bool) bool {
	outline, words := outlineOf(text)
	if len(words) == 0 {
		return false
	}
	of := s.of(outline)
	if of == nil {
		return false
	}
	f := of.take(len(words))
	if f == nil {
		return false
	}
	for i, place := range f.places {
		place(words[i])
	}
	clean := fine(f.manifests)
	of.give(f, clean)
	return clean
}

// of returns the structure of an outline; nil if there are too many.
func (s *structures) of(outline []byte) *structure {
	id := sha256.Sum256(outline)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[id]
	if known == nil && len(s.known) < maxStructures && s.size+len(outline) <= maxOutlines {
		if s.known == nil {
			s.known = map[[sha256.Size]byte]*structure{}
		}
		// No text contains its own hash, so a mark is in no other place of the text.
		known = &structure{text: outline, mark: "mark" + hex.EncodeToString(id[:16])}
		s.known[id] = known
		s.size += len(outline)
	}
	return known
}

// take returns a form with so many words for exclusive use; nil if texts with the structure have to be parsed.
func (s *structure) take(words int) *form {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen || s.parsed {
		s.seen = true
		return nil
	}
	if n := len(s.free); n > 0 {
		f := s.free[n-1]
		s.free = s.free[:n-1]
		return f
	}
	f := s.form(words)
	s.parsed = f == nil
	return f
}

// give returns a form for the next text. clean is whether nothing was wrong with this one.
func (s *structure) give(f *form, clean bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free = append(s.free, f); !clean {
		s.parsed, s.free = true, nil
	}
}

// form parses the text with its marks. It returns nil if a mark is not exactly one value: it may be in a comment, or a part of a value.
func (s *structure) form(words int) *form {
	var text []byte
	for i, part := range bytes.Split(s.text, []byte{wordByte}) {
		if i > 0 {
			text = append(text, s.mark+"x"+strconv.Itoa(i-1)+"x"...)
		}
		text = append(text, part...)
	}
	manifests, broken := parse("", text)
	if len(broken) > 0 {
		return nil
	}
	f := &form{manifests: manifests, places: make([]func(string), words)}
	for _, m := range manifests {
		if !s.find(m.content, nil, f.places) {
			return nil
		}
	}
	for _, place := range f.places {
		if place == nil {
			return nil
		}
	}
	return f
}

// find adds the places of the marks in a value, which set puts into what contains it. It reports false if a mark has two places.
func (s *structure) find(value any, set func(string), places []func(string)) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if text, ok := v.(string); ok && (key == "kind" || key == "apiVersion") && strings.HasPrefix(text, s.mark) {
				return false // whether it is a List decides what the manifests are
			}
			if !s.find(v, func(word string) { value[key] = word }, places) {
				return false
			}
		}
	case []any:
		for i, v := range value {
			if !s.find(v, func(word string) { value[i] = word }, places) {
				return false
			}
		}
	case string:
		number, marked := strings.CutPrefix(value, s.mark+"x")
		number, whole := strings.CutSuffix(number, "x")
		i, err := strconv.Atoi(number)
		if !marked || !whole || err != nil {
			return true
		}
		if i >= len(places) || places[i] != nil {
			return false
		}
		places[i] = set
	}
	return true
}

// wordByte stands for a word in an outline. Texts with it have no outline.
const wordByte = 0

// outlineOf returns a text without the words that can be other words without changing how the rest is parsed, and these words: plain or
// in double quotes, at the end of a line, after a key or the dash of a list. It returns no words for a text with anything unusual.
func outlineOf(text []byte) (outline []byte, words []string) {
	if len(text) > maxStructureSize {
		return nil, nil
	}
	for _, c := range text {
		if c != '\n' && (c < ' ' || c > '~') || c == '\\' {
			return nil, nil
		}
	}
	outline = make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		from, to := wordIn(line)
		if from == to {
			outline = append(outline, line...)
			continue
		}
		words = append(words, string(line[from:to]))
		outline = append(append(append(outline, line[:from]...), wordByte), line[to:]...)
	}
	return outline, words
}

// wordIn returns where the word at the end of a line is; nothing if it has none, or one that decides how others are read.
func wordIn(line []byte) (from, to int) {
	to = len(bytes.TrimRight(line, "\n"))
	colon, dash := bytes.Index(line[:to], []byte(": ")), bytes.LastIndex(line[:to], []byte("- "))
	switch {
	case colon >= 0:
		if key := bytes.TrimLeft(line[:colon], "- "); string(key) == "kind" || string(key) == "apiVersion" {
			return 0, 0
		}
		from = colon + len(": ")
	case dash >= 0 && len(bytes.Trim(line[:dash], "- ")) == 0:
		from = dash + len("- ")
	default:
		return 0, 0
	}
	if value := line[from:to]; len(value) > 2 && len(value) <= maxWord && value[0] == '"' && bytes.IndexByte(value[1:], '"') == len(value)-2 {
		return from + 1, to - 1
	}
	if !isWord(line[from:to]) {
		return 0, 0
	}
	return from, to
}

// maxWord is far below the length at which YAML treats a text differently.
const maxWord = 512

// isWord reports whether YAML reads a value as a string, wherever it is a value of its own.
func isWord(value []byte) bool {
	if len(value) == 0 || len(value) > maxWord || value[len(value)-1] == ':' {
		return false
	}
	for i, c := range value {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && strings.IndexByte("-._/:@+", c) < 0) {
			return false
		}
	}
	switch strings.ToLower(string(value)) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}
