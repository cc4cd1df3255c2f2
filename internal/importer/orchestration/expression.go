package orchestration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of expressions.
const (
	maxExpression = 4096 // bytes
	maxDepth      = 50
)

// translation is an expression in CEL.
type translation struct {
	term
	// same means that the expression only is the value that it is for: nothing computes it, it is set in the hierarchy.
	same bool
	// notes say what is assumed.
	notes []string
	// reads are the values that are read, by name.
	reads []string
}

// scope is what an expression is part of.
type scope struct {
	// of is the key that the text is the value of.
	of string
	// root is the variable that values are read from.
	root string
	// kinds are the types that the schema declares.
	kinds map[string]kind
}

// translate returns a text with ${{...}} as CEL.
//
// Texts before and after an expression are joined with it. A "+" between them joins, and is not part of the text: "line + ${{x}}" is "line " and x.
func translate(text string, s scope) (translation, error) {
	if len(text) > maxExpression {
		return translation{}, fmt.Errorf("it has %d bytes; the maximum is %d", len(text), maxExpression)
	}
	var t translation
	var parts []string
	var reads []*read
	rest, first := text, true
	for {
		before, after, found := strings.Cut(rest, "${{")
		literal, err := joined(before, !first, found)
		if err != nil {
			return t, err
		}
		if literal != "" || !found && len(parts) == 0 {
			parts = append(parts, strconv.Quote(literal))
		}
		if !found {
			break
		}
		p := &parser{text: after, scope: s}
		part, err := p.whole()
		if err != nil {
			return t, err
		}
		t.notes, reads = append(t.notes, p.notes...), append(reads, p.reads...)
		if rest = p.rest(); first && before == "" && rest == "" { // all of the text
			t.term, t.same = part, p.same
			break
		}
		first = false
		parts = append(parts, part.asText())
	}
	if parts != nil {
		t.term = term{code: strings.Join(parts, " + "), kind: aText}
	}
	if s.root == rules {
		t.code = guarded(t.isTrue(), reads)
	}
	for _, r := range reads {
		t.reads = append(t.reads, r.name)
	}
	return t, nil
}

// joined returns a text between expressions without the plus signs that join it with them.
func joined(text string, before, after bool) (string, error) {
	if before && after && strings.TrimSpace(text) == "+" {
		if text == "+" {
			return "", nil
		}
		return "", errors.New("it is not defined whether blanks around a + between two expressions are kept: write ${{...}}+${{...}}")
	}
	const unclear = "it is not defined whether the blank at the + is kept: write it on both sides, or on neither"
	if trimmed := strings.TrimRight(text, " \t"); after && strings.HasSuffix(trimmed, "+") {
		kept := strings.TrimSuffix(trimmed, "+")
		if (trimmed != text) != (strings.TrimRight(kept, " \t") != kept) {
			return "", errors.New(unclear)
		}
		text = kept
	}
	if trimmed := strings.TrimLeft(text, " \t"); before && strings.HasPrefix(trimmed, "+") {
		kept := strings.TrimPrefix(trimmed, "+")
		if (trimmed != text) != (strings.TrimLeft(kept, " \t") != kept) {
			return "", errors.New(unclear)
		}
		text = kept
	}
	return text, nil
}

// guarded makes a rule hold if a value that it reads is missing.
func guarded(code string, reads []*read) string {
	var conditions []string
	for _, r := range reads {
		if r.tested {
			continue
		}
		for _, missing := range r.missing() {
			if !slices.Contains(conditions, missing) {
				conditions = append(conditions, missing)
			}
		}
	}
	return strings.Join(append(conditions, code), " || ")
}

// read is a value that an expression reads.
type read struct {
	name, root string
	// tested means that the expression works without it.
	tested bool
}

// code returns the CEL that reads the value at the first n steps of its path; all of them if n is negative.
func (r *read) code(n int) string {
	code := r.root
	for i, step := range strings.Split(r.name, ".") {
		switch {
		case i == n:
			return code
		case isIdentifier(step):
			code += "." + step
		default:
			code += "[" + strconv.Quote(step) + "]"
		}
	}
	return code
}

// missing returns conditions that are true, from the first one, if the value or one above it is missing.
func (r *read) missing() []string {
	var conditions []string
	for i, step := range strings.Split(r.name, ".") {
		if isIdentifier(step) {
			conditions = append(conditions, "!has("+r.code(i+1)+")")
		} else {
			conditions = append(conditions, "!("+strconv.Quote(step)+" in "+r.code(i)+")")
		}
	}
	return conditions
}

// infix are functions that are operators in CEL.
var infix = map[string]string{
	"and": "&&", "or": "||", "any": "||", "eq": "==", "equal": "==", "ne": "!=", "notequal": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=",
}

// call translates a call whose opening parenthesis was read.
func (p *parser) call(function string) (term, error) {
	switch function {
	case "val", "context", "property", "config":
		return p.lookup(function, strings.TrimSpace(p.text[:p.at]) == "$"+function+"(")
	case "target":
		return p.target()
	case "include", "secret", "json", "trigger", "instance", "params", "param", "input", "output", "method", "cidr_contains":
		return term{}, p.fail("$%s has no counterpart", function)
	}
	args, err := p.arguments(function)
	if err != nil {
		return term{}, err
	}
	p.same = false
	result, err := apply(function, args)
	if err != nil {
		return term{}, p.fail("%v", err)
	}
	return result, nil
}

// arguments reads arguments up to the closing parenthesis.
func (p *parser) arguments(function string) ([]term, error) {
	var args []term
	for p.next(")") == 0 {
		if len(args) > 0 && p.next(",") == 0 {
			return nil, p.fail("want , or ) in $%s", function)
		}
		arg, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// apply returns the result of a function.
func apply(function string, args []term) (term, error) {
	n := len(args)
	switch operator := infix[function]; {
	case (operator == "&&" || operator == "||") && (n >= 2 || function == "any" && n == 1):
		var all []string
		for _, a := range args {
			code, err := a.asBool()
			if err != nil {
				return term{}, err
			}
			all = append(all, code)
		}
		return truth("(" + strings.Join(all, " "+operator+" ") + ")"), nil
	case (operator == "==" || operator == "!=") && n == 2:
		return equal(operator, args[0], args[1]), nil
	case operator != "" && operator != "&&" && operator != "||" && n == 2:
		return compare(operator, args[0], args[1])
	case function == "not" && n == 1:
		code, err := args[0].asBool()
		return truth("!(" + code + ")"), err
	case function == "if" && n == 3:
		return choose(args[0].isTrue(), args[1], args[2]), nil
	case function == "between" && n == 3:
		low, err := compare(">=", args[0], args[1])
		if err != nil {
			return low, err
		}
		high, err := compare("<=", args[0], args[2])
		return truth("(" + low.code + " && " + high.code + ")"), err
	case function == "in" && n >= 2:
		var list []string
		for _, a := range args[1:] {
			list = append(list, a.asText())
		}
		return truth("(" + args[0].asText() + " in [" + strings.Join(list, ", ") + "])"), nil
	case (function == "len" || function == "size") && n == 1:
		return term{code: "size(" + args[0].code + ")", kind: aWhole}, nil
	case function == "str" && n == 1:
		return term{code: args[0].asText(), kind: aText}, nil
	case function == "int" && n == 1:
		return term{code: "int(" + args[0].code + ")", kind: aWhole}, nil
	case function == "empty" && n == 1:
		return empty(args[0]), nil
	}
	return term{}, fmt.Errorf("$%s with %d arguments is not known", function, n)
}

// empty tests a value, which may be missing.
func empty(a term) term {
	if a.read == nil {
		return truth("(" + a.code + ` in [null, "", []])`)
	}
	a.read.tested = true
	return truth("(" + strings.Join(append(a.read.missing(), a.code+` in [null, "", []]`), " || ") + ")")
}

// lookup translates $val(name), $property(name) and $config(template, name).
func (p *parser) lookup(function string, alone bool) (term, error) {
	if function == "config" {
		template := p.path()
		if p.next(",") == 0 {
			return term{}, p.fail("want a name after the template %s: a template as a whole has no counterpart", template)
		}
		defer func(before int) {
			for _, r := range p.reads[before:] {
				p.notes = append(p.notes, fmt.Sprintf("%s is read from the configuration of the target: the template %s must be in it", r.name, template))
			}
		}(len(p.reads))
	}
	name, err := p.name()
	if err != nil {
		return term{}, err
	}
	if p.next(")") == 0 {
		return term{}, p.fail("want ) after %s", name)
	}
	p.same = alone && (function == "val" || function == "config") && name == p.of && strings.HasPrefix(strings.TrimLeft(p.rest(), " \t\r\n"), "}}")
	if name == p.of && !p.same && p.root == config {
		return term{}, errors.New("it computes a value from itself; set the value above, or give it another name")
	}
	r := &read{name: name, root: p.root}
	p.reads = append(p.reads, r)
	return term{code: r.code(-1), kind: p.kinds[name], read: r}, nil
}

// target translates $target(name).
func (p *parser) target() (term, error) {
	name, err := p.name()
	switch {
	case err != nil:
		return term{}, err
	case p.next(")") == 0:
		return term{}, p.fail("want ) after %s", name)
	case p.root == rules:
		return term{}, errors.New("rules read only values, and not the target")
	case name != "name":
		return term{}, p.fail("$target(%s) has no counterpart", name)
	}
	p.same = false
	p.notes = append(p.notes, "the name of the target is that of the Workload, in lower case")
	return term{code: "target.shortName", kind: aText}, nil
}
