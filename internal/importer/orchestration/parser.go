package orchestration

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parser reads an expression: calls $name(a, b), names, texts, numbers, and + - * /.
type parser struct {
	scope
	text  string
	at    int
	depth int
	reads []*read
	same  bool
	notes []string
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

// whole reads an expression up to the closing braces.
func (p *parser) whole() (term, error) {
	t, err := p.sum()
	if err != nil {
		return term{}, err
	}
	if p.skip(); !strings.HasPrefix(p.rest(), "}}") {
		return term{}, p.fail("want }}")
	}
	p.at += 2
	return t, nil
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next reports whether a character comes next, and reads it.
func (p *parser) next(characters string) byte {
	if p.skip(); p.at < len(p.text) && strings.IndexByte(characters, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1]
	}
	return 0
}

func (p *parser) sum() (term, error) { return p.binary("+-", p.product) }

func (p *parser) product() (term, error) { return p.binary("*/", p.operand) }

func (p *parser) binary(operators string, operand func() (term, error)) (term, error) {
	left, err := operand()
	for err == nil {
		operator := p.next(operators)
		if operator == 0 {
			break
		}
		var right term
		if right, err = operand(); err != nil {
			break
		}
		p.same = false
		if left, err = arithmetic(operator, left, right); err != nil {
			err = p.fail("%v", err)
		}
	}
	return left, err
}

func (p *parser) operand() (term, error) {
	if p.depth++; p.depth > maxDepth {
		return term{}, p.fail("it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.next(`$('"`) {
	case '$':
		name := p.word()
		if p.next("(") == 0 {
			return term{}, p.fail("want ( after $%s", name)
		}
		return p.call(name)
	case '(':
		inner, err := p.sum()
		if err == nil && p.next(")") == 0 {
			err = p.fail("want )")
		}
		return inner, err
	case '\'', '"':
		p.at--
		text, err := p.quoted()
		return constant(text, true), err
	}
	word := p.word()
	if word == "" {
		return term{}, p.fail("want a value")
	}
	return constant(word, false), nil
}

// word reads a name, path or number.
func (p *parser) word() string {
	p.skip()
	start := p.at
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.rest())
		inNumber := r == '-' && p.at == start
		inName := r == '-' && p.at > start && unicode.IsLetter(rune(p.text[start]))
		if !inNumber && !inName && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.", r) {
			break
		}
		p.at += size
	}
	return p.text[start:p.at]
}

func (p *parser) quoted() (string, error) {
	quote := p.text[p.at]
	end := strings.IndexByte(p.text[p.at+1:], quote)
	if end < 0 {
		return "", p.fail("the text does not end")
	}
	text := p.text[p.at+1 : p.at+1+end]
	if strings.Contains(text, `\`) {
		return "", p.fail("a text with a backslash has no counterpart")
	}
	p.at += end + 2
	return text, nil
}

// path reads the address of a template, up to a comma or parenthesis.
func (p *parser) path() string {
	end := strings.IndexAny(p.rest(), ",)}")
	if end < 0 {
		end = len(p.rest())
	}
	path := p.rest()[:end]
	p.at += end
	return strings.TrimSpace(path)
}

// name reads an argument that is the name of a value.
func (p *parser) name() (string, error) {
	p.skip()
	name := ""
	if p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"') {
		var err error
		if name, err = p.quoted(); err != nil {
			return "", err
		}
		name = strings.TrimPrefix(name, "$.")
	} else {
		name = p.word()
	}
	if name == "" || slices.Contains(strings.Split(name, "."), "") || strings.ContainsAny(name, "[]*") {
		return "", p.fail("want a name")
	}
	return name, nil
}

// reserved are words of CEL that cannot follow a dot.
var reserved = []string{"in", "true", "false", "null"}

func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && (c > 'z' || !unicode.IsLetter(c)) && (i == 0 || c > '9' || !unicode.IsDigit(c)) {
			return false
		}
	}
	return s != "" && !slices.Contains(reserved, s)
}
