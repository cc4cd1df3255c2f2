package orchestration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of expressions.
const (
	maxExpression = 4096 // bytes
	maxDepth      = 50
)

// translation is an expression in CEL.
type translation struct {
	text string
	// same means that the expression only is the value that it is for: nothing computes it, it is set in the hierarchy.
	same bool
	// notes say what is assumed.
	notes []string
}

// translate returns ${{...}} texts as CEL. of is the key that the text is the value of; values are read below the variable root.
func translate(text, of, root string) (translation, error) {
	if len(text) > maxExpression {
		return translation{}, fmt.Errorf("it has %d bytes; the maximum is %d", len(text), maxExpression)
	}
	var t translation
	var parts []string
	rest := text
	for {
		before, after, found := strings.Cut(rest, "${{")
		if before != "" || !found && len(parts) == 0 {
			parts = append(parts, strconv.Quote(before))
		}
		if !found {
			break
		}
		p := &parser{text: after, of: of, root: root, guarded: map[string]bool{}}
		part, err := p.whole()
		if err != nil {
			return t, err
		}
		t.notes = append(t.notes, p.notes...)
		rest = p.rest()
		if len(parts) == 0 && rest == "" { // all of the text
			t.text, t.same = p.guard(part), p.same
			return t, nil
		}
		parts = append(parts, "string("+part+")")
	}
	t.text = strings.Join(parts, " + ")
	return t, nil
}

// parser reads an expression: calls $name(a, b), names, texts, numbers, and + - * /.
type parser struct {
	text, of, root string
	at             int
	depth          int
	// reads are the values that are read, guarded those that may be missing.
	reads   []string
	guarded map[string]bool
	same    bool
	notes   []string
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

// whole reads an expression up to the closing braces.
func (p *parser) whole() (string, error) {
	text, err := p.sum()
	if err != nil {
		return "", err
	}
	if p.skip(); !strings.HasPrefix(p.rest(), "}}") {
		return "", p.fail("want }}")
	}
	p.at += 2
	return text, nil
}

// guard makes a rule hold if a value that it reads is missing.
func (p *parser) guard(text string) string {
	if p.root != rules {
		return text
	}
	var missing []string
	for _, read := range p.reads {
		if !p.guarded[read] && !slices.Contains(missing, "!has("+read+")") && strings.Contains(read, ".") && !strings.HasSuffix(read, "]") {
			missing = append(missing, "!has("+read+")")
		}
	}
	return strings.Join(append(missing, text), " || ")
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

func (p *parser) sum() (string, error) { return p.binary("+-", p.product) }

func (p *parser) product() (string, error) { return p.binary("*/", p.operand) }

func (p *parser) binary(operators string, operand func() (string, error)) (string, error) {
	left, err := operand()
	for err == nil {
		operator := p.next(operators)
		if operator == 0 {
			break
		}
		var right string
		if right, err = operand(); err == nil {
			left, p.same = "("+left+" "+string(operator)+" "+right+")", false
		}
	}
	return left, err
}

func (p *parser) operand() (string, error) {
	if p.depth++; p.depth > maxDepth {
		return "", p.fail("it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.next(`$('"`) {
	case '$':
		name := p.word()
		if p.next("(") == 0 {
			return "", p.fail("want ( after $%s", name)
		}
		return p.call(name)
	case '(':
		inner, err := p.sum()
		if err == nil && p.next(")") == 0 {
			err = p.fail("want )")
		}
		return "(" + inner + ")", err
	case '\'', '"':
		p.at--
		text, err := p.quoted()
		return strconv.Quote(text), err
	}
	word := p.word()
	if word == "" {
		return "", p.fail("want a value")
	}
	if _, err := strconv.ParseFloat(word, 64); err == nil && !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) && r != 'e' && r != 'E' }) || word == "true" || word == "false" {
		return word, nil
	}
	return strconv.Quote(word), nil
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
	p.at += end + 2
	return text, nil
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
	} else {
		name = p.word()
	}
	if name == "" {
		return "", p.fail("want a name")
	}
	return name, nil
}

// read returns the CEL for a value of the configuration.
func (p *parser) read(name string) string {
	text := p.root
	for step := range strings.SplitSeq(name, ".") {
		if isIdentifier(step) {
			text += "." + step
		} else {
			text += "[" + strconv.Quote(step) + "]"
		}
	}
	p.reads = append(p.reads, text)
	return text
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

// infix are functions that are operators in CEL, of any number of arguments from two.
var infix = map[string]string{
	"and": "&&", "or": "||", "eq": "==", "equal": "==", "ne": "!=", "notequal": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=",
}

// call translates a call whose opening parenthesis was read.
func (p *parser) call(function string) (string, error) {
	alone := strings.TrimSpace(p.text[:p.at]) == "$"+function+"("
	switch function {
	case "val", "property", "config":
		return p.lookup(function, alone)
	case "include", "secret", "json", "trigger", "instance", "params", "context", "input", "output", "method":
		return "", p.fail("$%s has no counterpart", function)
	}
	var args []string
	before := len(p.reads)
	for p.next(")") == 0 {
		if len(args) > 0 && p.next(",") == 0 {
			return "", p.fail("want , or ) in $%s", function)
		}
		arg, err := p.sum()
		if err != nil {
			return "", err
		}
		args = append(args, arg)
	}
	p.same = false
	n := len(args)
	operator, isInfix := infix[function]
	switch {
	case isInfix && (n == 2 || n > 2 && len(operator) == 2 && (operator == "&&" || operator == "||")):
		return "(" + strings.Join(args, " "+operator+" ") + ")", nil
	case function == "not" && n == 1:
		return "!(" + args[0] + ")", nil
	case function == "if" && n == 3:
		return "(" + args[0] + " ? " + args[1] + " : " + args[2] + ")", nil
	case function == "between" && n == 3:
		return "(" + args[0] + " >= " + args[1] + " && " + args[0] + " <= " + args[2] + ")", nil
	case function == "in" && n >= 2:
		return "(" + args[0] + " in [" + strings.Join(args[1:], ", ") + "])", nil
	case (function == "len" || function == "size") && n == 1:
		return "size(" + args[0] + ")", nil
	case function == "str" && n == 1:
		return "string(" + args[0] + ")", nil
	case function == "int" && n == 1:
		return "int(" + args[0] + ")", nil
	case function == "empty" && n == 1 && len(p.reads) == before+1 && p.reads[before] == args[0] && !strings.HasSuffix(args[0], "]"):
		p.guarded[args[0]] = true
		return "(!has(" + args[0] + ") || " + args[0] + ` in [null, "", []])`, nil
	case function == "empty" && n == 1:
		return "(" + args[0] + ` in [null, "", []])`, nil
	}
	return "", p.fail("$%s with %d arguments is not known", function, n)
}

// lookup translates $val(name), $property(name) and $config(template, name).
func (p *parser) lookup(function string, alone bool) (string, error) {
	name, err := p.name()
	if err == nil && function == "config" {
		template := name
		for strings.HasPrefix(p.rest(), "/") { // template/version
			p.at++
			p.word()
		}
		if p.next(",") == 0 {
			return "", p.fail("want a name after the template %s", template)
		}
		name, err = p.name()
		p.notes = append(p.notes, fmt.Sprintf("%s is read from the configuration of the target: the template %s must be in it", name, template))
	}
	if err != nil {
		return "", err
	}
	if p.next(")") == 0 {
		return "", p.fail("want ) after %s", name)
	}
	if function == "property" {
		p.notes = append(p.notes, "the property "+name+" is read from the labels of the target")
		return "target.labels[" + strconv.Quote(name) + "]", nil
	}
	p.same = alone && name == p.of && strings.HasPrefix(strings.TrimLeft(p.rest(), " \t\r\n"), "}}")
	if name == p.of && !p.same && p.root == config {
		return "", errors.New("it computes a value from itself; set the value above, or give it another name")
	}
	return p.read(name), nil
}
