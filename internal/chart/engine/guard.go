package engine

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The functions that guarded templates call. Templates cannot call them directly.
const (
	guardStep  = "kalypsoStep"  // at the start of a loop body
	guardEnter = "kalypsoEnter" // at the start of a template
	guardLeave = "kalypsoLeave" // at its end
	guardText  = "kalypsoText"  // around a text that tpl executes
)

var guardNames = []string{guardStep, guardEnter, guardLeave, guardText}

// guard inserts calls of a meter into the text of a template, so that loops, nesting and texts that are created while
// rendering are counted:
//
//	{{- define "name" }}{{kalypsoEnter 12}} ... {{kalypsoLeave}}{{- end }}
//	{{ range .Values.list }}{{kalypsoStep 34}} ... {{ end }}
//	{{ tpl (kalypsoText .Values.text) . }}
//
// Helm's engine takes text, so the calls are inserted into the text. They print nothing, and copy the trimming of the
// adjacent delimiter. No line is added, so line numbers in errors stay correct.
// The scanner is simple, so the result is parsed and checked (see audited).
// A text that does not parse is returned unchanged: the engine reports the error.
func guard(text string) (string, error) {
	s := scanner{text: text}
	if err := s.scan(); err != nil {
		return "", err
	}
	guarded := s.result()
	if audited(guarded) {
		return guarded, nil
	}
	if _, err := trees(text); err != nil {
		return text, nil
	}
	return "", errUnguarded
}

// insertion is a text to insert at an offset.
type insertion struct {
	at   int
	text string
}

// block is an action that ends with {{end}}.
type block struct {
	// template is true for define and block, and for the text as a whole.
	template bool
	// start is where its body begins. trim means that white space is trimmed there.
	start int
	trim  bool
	// branches counts its else branches, each of which nests in the parser.
	branches int
	// empty means that the body is empty so far: an empty template does not replace another one with the same name.
	empty bool
}

// scanner scans a template's text, action by action.
type scanner struct {
	text       string
	insertions []insertion
	open       []block
	// depth is how deep the parser nests here.
	depth int
}

// maxBlocks is the maximum depth of blocks in a template. The parser calls itself for each, and nothing else bounds its stack.
const maxBlocks = 1000

var errBlocks = fmt.Errorf("its blocks nest more than %d levels deep", maxBlocks)

func (s *scanner) scan() error {
	s.open = []block{{template: true, empty: true}}
	at := 0
	for {
		i := strings.Index(s.text[at:], "{{")
		if i < 0 {
			break
		}
		s.words(s.text[at : at+i])
		a, err := s.action(at + i)
		if err != nil {
			return err
		}
		if s.apply(a); s.depth > maxBlocks {
			return errBlocks
		}
		at = a.end
	}
	s.words(s.text[at:])
	if len(s.open) == 1 {
		s.close(s.open[0], len(s.text), false)
	}
	return nil
}

// words marks the innermost body as non-empty if the text is not only white space.
func (s *scanner) words(text string) {
	if strings.TrimSpace(text) != "" {
		s.fill()
	}
}

func (s *scanner) fill() {
	if len(s.open) > 0 {
		s.open[len(s.open)-1].empty = false
	}
}

// action is the text between two delimiters.
type action struct {
	start, end          int // including delimiters
	trimLeft, trimRight bool
	comment             bool
	keyword             string
}

// apply inserts the calls for an action.
func (s *scanner) apply(a action) {
	if a.comment {
		return
	}
	if a.keyword != "define" && a.keyword != "end" {
		s.fill()
	}
	switch a.keyword {
	case "if", "with", "range", "define", "block":
		s.depth++
	case "else":
		s.depth++
		s.open[len(s.open)-1].branches++
	}
	switch a.keyword {
	case "if", "with":
		s.open = append(s.open, block{})
	case "range":
		s.open = append(s.open, block{start: a.end, trim: a.trimRight})
	case "define", "block":
		s.open = append(s.open, block{template: true, start: a.end, trim: a.trimRight, empty: true})
	case "end":
		if len(s.open) > 1 { // otherwise it does not parse
			last := s.open[len(s.open)-1]
			s.open = s.open[:len(s.open)-1]
			s.depth -= 1 + last.branches
			s.close(last, a.start, a.trimLeft)
		}
	}
}

// close inserts the calls at the end of a body.
func (s *scanner) close(b block, end int, trim bool) {
	switch {
	case b.template && !b.empty:
		s.put(b.start, call(guardEnter, end-b.start, false, b.trim))
		s.put(end, call(guardLeave, 0, trim, false))
	case !b.template && b.start > 0:
		s.put(b.start, call(guardStep, end-b.start, false, b.trim))
	}
}

func (s *scanner) put(at int, text string) { s.insertions = append(s.insertions, insertion{at, text}) }

// call returns the text of a call with a cost. Leaving costs nothing.
func call(name string, cost int, trimLeft, trimRight bool) string {
	if name != guardLeave {
		name = fmt.Sprintf("%s %d", name, cost)
	}
	left, right := "{{", "}}"
	if trimLeft {
		left = "{{- "
	}
	if trimRight {
		right = " -}}"
	}
	return left + name + right
}

// result returns the text with all insertions. Of several insertions at one offset, the inner body's comes first
// at the end of bodies, and last at the beginning; only the former can happen.
func (s *scanner) result() string {
	slices.SortStableFunc(s.insertions, func(a, b insertion) int { return a.at - b.at })
	var b strings.Builder
	at := 0
	for _, i := range s.insertions {
		b.WriteString(s.text[at:i.at])
		b.WriteString(i.text)
		at = i.at
	}
	b.WriteString(s.text[at:])
	return b.String()
}

// action parses the action at an offset.
func (s *scanner) action(start int) (action, error) {
	a := action{start: start}
	at := start + 2
	if rest := s.text[at:]; len(rest) > 1 && rest[0] == '-' && isSpace(rest[1]) {
		a.trimLeft = true
		at += 2
	}
	if strings.HasPrefix(s.text[at:], "/*") {
		a.comment = true
		end := strings.Index(s.text[at:], "*/")
		if end < 0 {
			a.end = len(s.text)
			return a, nil // does not parse
		}
		at += end + 2
	}
	for first := true; at < len(s.text); {
		if n, trim := closing(s.text[at:]); n > 0 {
			a.end, a.trimRight = at+n, trim
			return a, nil
		}
		next, word, err := s.token(at)
		if err != nil {
			return a, err
		}
		if first && !isSpace(s.text[at]) {
			a.keyword, first = word, false
		}
		at = next
	}
	a.end = len(s.text) // does not parse
	return a, nil
}

// token parses the token at an offset, and returns the next one's offset. word is the name of a function or keyword, else "".
func (s *scanner) token(at int) (next int, word string, err error) {
	next = tokenEnd(s.text, at)
	if c, _ := utf8.DecodeRuneInString(s.text[at:]); !isLetter(c) {
		return next, "", nil
	}
	if at > 0 && strings.IndexByte(".$", s.text[at-1]) >= 0 {
		return next, "", nil // a field or variable
	}
	word = s.text[at:next]
	if slices.Contains(guardNames, word) {
		return 0, "", fmt.Errorf("%s is not for templates", word)
	}
	if word == "tpl" {
		s.operand(next)
	}
	return next, word, nil
}

// operand wraps the operand of tpl, the text to execute.
func (s *scanner) operand(at int) {
	for at < len(s.text) && isSpace(s.text[at]) {
		at++
	}
	end := operandEnd(s.text, at)
	if end > at {
		s.put(at, "("+guardText+" ")
		s.put(end, ")")
	}
}

// operandEnd returns where an operand ends: a literal, a parenthesized expression or a name, and the fields after it.
func operandEnd(text string, at int) int {
	depth := 0
	for at < len(text) {
		c := text[at]
		n, _ := closing(text[at:])
		switch {
		case n > 0 || depth == 0 && (isSpace(c) || c == '|' || c == ')' || c == ','):
			return at
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		at = tokenEnd(text, at)
	}
	return at
}

// tokenEnd returns where the token at an offset ends: a literal, a sequence of letters and digits, or one character.
func tokenEnd(text string, at int) int {
	switch c := text[at]; c {
	case '"', '\'', '`':
		for i := at + 1; i < len(text); i++ {
			switch {
			case text[i] == '\\' && c != '`':
				i++
			case text[i] == c:
				return i + 1
			}
		}
		return len(text)
	}
	end := at
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !isLetter(r) && !unicode.IsDigit(r) {
			break
		}
		end += size
	}
	if end == at {
		_, size := utf8.DecodeRuneInString(text[at:])
		return at + size
	}
	return end
}

// closing returns the length of the closing delimiter at the start of a text, and whether it trims. 0 if there is none.
func closing(text string) (int, bool) {
	switch {
	case strings.HasPrefix(text, "}}"):
		return 2, false
	case len(text) >= 4 && isSpace(text[0]) && text[1:4] == "-}}":
		return 4, true
	}
	return 0, false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }
