package workflowtest

import (
	"fmt"
	"slices"
	"strings"
)

// scope is what the names of an expression mean.
type scope struct {
	// value returns the value of a name: "github.sha", "$CI_COMMIT_BRANCH", "variables.Build.Reason".
	value func(name string) (string, error)
}

// eval computes an expression. All three CI systems have parts of one grammar:
//
//	or      = and { "||" and }          unary   = "!" unary | primary
//	and     = compare { "&&" compare }  primary = "(" or ")" | text in quotes | name | name "(" [ or { "," or } ] ")"
//	compare = unary [ ("=="|"!=") unary ]
//
// Values are texts; the empty one and "false" are not true.
func (s scope) eval(text string) (string, error) {
	p := &parser{scope: s, rest: strings.TrimSpace(text)}
	value, err := p.or()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("there is %q left", p.rest)
	}
	if err != nil {
		return "", fmt.Errorf("expression %q: %w", text, err)
	}
	return value, nil
}

// holds reports whether an expression is true. An empty one is.
func (s scope) holds(text string) (bool, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "${{"); ok {
		text = strings.TrimSuffix(inner, "}}")
	}
	if text == "" {
		return true, nil
	}
	value, err := s.eval(text)
	return isTrue(value), err
}

func isTrue(value string) bool { return value != "" && value != "false" }

func truth(yes bool) string { return fmt.Sprint(yes) }

type parser struct {
	scope
	rest string
}

// take takes a sign, if it comes next.
func (p *parser) take(sign string) bool {
	rest, ok := strings.CutPrefix(p.rest, sign)
	if ok {
		p.rest = strings.TrimSpace(rest)
	}
	return ok
}

func (p *parser) or() (string, error) {
	value, err := p.and()
	for err == nil && p.take("||") {
		var next string
		if next, err = p.and(); !isTrue(value) {
			value = next
		}
	}
	return value, err
}

func (p *parser) and() (string, error) {
	value, err := p.compare()
	for err == nil && p.take("&&") {
		var next string
		if next, err = p.compare(); isTrue(value) {
			value = next
		}
	}
	return value, err
}

func (p *parser) compare() (string, error) {
	value, err := p.unary()
	if err != nil {
		return "", err
	}
	equal := p.take("==")
	if !equal && !p.take("!=") {
		return value, nil
	}
	other, err := p.unary()
	return truth((value == other) == equal), err
}

func (p *parser) unary() (string, error) {
	if !strings.HasPrefix(p.rest, "!=") && p.take("!") {
		value, err := p.unary()
		return truth(!isTrue(value)), err
	}
	return p.primary()
}

func (p *parser) primary() (string, error) {
	if p.take("(") {
		value, err := p.or()
		if err == nil && !p.take(")") {
			err = fmt.Errorf("a parenthesis is not closed before %q", p.rest)
		}
		return value, err
	}
	for _, quote := range []string{"'", `"`} {
		if inner, ok := strings.CutPrefix(p.rest, quote); ok {
			text, rest, closed := strings.Cut(inner, quote)
			if p.rest = strings.TrimSpace(rest); !closed {
				return "", fmt.Errorf("a quote is not closed in %q", inner)
			}
			return text, nil
		}
	}
	name := p.name()
	switch {
	case name == "":
		return "", fmt.Errorf("a value is missing before %q", p.rest)
	case p.take("("):
		return p.call(name)
	case name == "true" || name == "false":
		return name, nil
	}
	return p.value(name)
}

// name takes a name; variables['Build.Reason'] is variables.Build.Reason.
func (p *parser) name() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return strings.ContainsRune(" \t\n()=!&|,[", r) })
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	if index, ok := strings.CutPrefix(p.rest, "['"); ok {
		inner, rest, _ := strings.Cut(index, "']")
		name, p.rest = name+"."+inner, rest
	}
	p.rest = strings.TrimSpace(p.rest)
	return name
}

// call calls a function of Azure Pipelines. Nothing has failed where steps are run by hand.
func (p *parser) call(name string) (string, error) {
	var args []string
	for !p.take(")") {
		arg, err := p.or()
		if err != nil {
			return "", err
		}
		args = append(args, arg)
		if !p.take(",") && !strings.HasPrefix(p.rest, ")") {
			return "", fmt.Errorf("the arguments of %s do not end", name)
		}
	}
	switch {
	case name == "succeeded", name == "succeededOrFailed", name == "always":
		return "true", nil
	case name == "failed":
		return "false", nil
	case name == "and":
		return truth(!slices.ContainsFunc(args, func(a string) bool { return !isTrue(a) })), nil
	case name == "or":
		return truth(slices.ContainsFunc(args, isTrue)), nil
	case name == "not" && len(args) == 1:
		return truth(!isTrue(args[0])), nil
	case name == "eq" && len(args) == 2:
		return truth(strings.EqualFold(args[0], args[1])), nil
	case name == "ne" && len(args) == 2:
		return truth(!strings.EqualFold(args[0], args[1])), nil
	case name == "in" && len(args) > 0:
		return truth(slices.Contains(args[1:], args[0])), nil
	}
	return "", fmt.Errorf("the function %s of %d arguments is not known", name, len(args))
}
