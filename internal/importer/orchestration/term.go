package orchestration

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is the type of a term, as far as it is known before anything is computed.
type kind int

const (
	unknown kind = iota
	aText
	aTruth
	aWhole // number
	aNumber
)

// kinds are the types of a schema.
var kinds = map[string]kind{"string": aText, "integer": aWhole, "number": aNumber, "boolean": aTruth}

// term is a part of an expression in CEL.
//
// The language that is translated compares numbers and texts by what they look like: the text "5" is more than 4, and equals the number 5. CEL
// does not, so a term whose type is not known is converted. A number with a fraction that is written in an expression is a text, which is
// converted where a number is needed.
type term struct {
	code string
	kind kind
	// literal is the text of a constant.
	literal *string
	// read is the value that the term is, if it is one.
	read *read
}

func truth(code string) term { return term{code: code, kind: aTruth} }

// constant is a word or text in an expression.
func constant(text string, quoted bool) term {
	switch whole, err := strconv.ParseInt(text, 10, 64); {
	case quoted:
	case err == nil:
		text = strconv.FormatInt(whole, 10)
		return term{code: text, kind: aWhole, literal: &text}
	case text == "true" || text == "false":
		return term{code: text, kind: aTruth, literal: &text}
	}
	return term{code: strconv.Quote(text), kind: aText, literal: &text}
}

func (t term) isNumber() bool { return t.kind == aWhole || t.kind == aNumber }

// asText returns the term as a text.
func (t term) asText() string {
	switch {
	case t.literal != nil:
		return strconv.Quote(*t.literal)
	case t.kind == aText:
		return t.code
	}
	return "string(" + t.code + ")"
}

// asBool returns the term as a condition. Anything but a boolean, and a text that reads like one, is an error, now or when it is computed.
func (t term) asBool() (string, error) {
	switch {
	case t.kind == aTruth:
		return t.code, nil
	case t.isNumber():
		return "", fmt.Errorf("%s is not a boolean", t.code)
	}
	return "bool(" + t.code + ")", nil
}

// isTrue returns whether the term is true, or the text "true".
func (t term) isTrue() string {
	switch {
	case t.kind == aTruth:
		return t.code
	case t.literal != nil:
		return strconv.FormatBool(*t.literal == "true")
	case t.isNumber():
		return "false"
	case t.kind == aText:
		return `(` + t.code + ` == "true")`
	}
	return "(" + t.code + ` in [true, "true"])`
}

// asNumber returns the term as a number.
func (t term) asNumber() (string, error) {
	switch {
	case t.isNumber():
		return t.code, nil
	case t.kind == aTruth:
		return "", fmt.Errorf("%s is not a number", t.code)
	case t.literal != nil:
		number, err := strconv.ParseFloat(*t.literal, 64)
		if err != nil || number != number || number-number != 0 {
			return "", fmt.Errorf("%.100q is not a number", *t.literal)
		}
		text := strconv.FormatFloat(number, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text, nil
	}
	return "double(" + t.code + ")", nil
}

func compare(operator string, a, b term) (term, error) {
	left, err := a.asNumber()
	if err != nil {
		return term{}, err
	}
	right, err := b.asNumber()
	return truth("(" + left + " " + operator + " " + right + ")"), err
}

// equal compares numbers with numbers, and everything else by its text.
func equal(operator string, a, b term) term {
	if a.isNumber() && b.isNumber() || a.kind == b.kind && a.kind != unknown {
		return truth("(" + a.code + " " + operator + " " + b.code + ")")
	}
	return truth("(" + a.asText() + " " + operator + " " + b.asText() + ")")
}

// choose returns one of two terms.
func choose(condition string, a, b term) term {
	if a.kind == b.kind || a.kind == unknown || b.kind == unknown {
		result := term{code: "(" + condition + " ? " + a.code + " : " + b.code + ")"}
		if a.kind == b.kind {
			result.kind = a.kind
		}
		return result
	}
	return term{code: "(" + condition + " ? dyn(" + a.code + ") : dyn(" + b.code + "))"}
}

// arithmetic calculates with numbers, and joins texts with +.
func arithmetic(operator byte, a, b term) (term, error) {
	switch {
	case operator == '/' && b.literal != nil && *b.literal == "0":
		return term{}, fmt.Errorf("it divides by zero")
	case a.isNumber() && b.isNumber() && a.kind == aWhole && b.kind == aWhole && operator != '/':
		return term{code: "(" + a.code + " " + string(operator) + " " + b.code + ")", kind: aWhole}, nil
	case a.isNumber() && b.isNumber():
		return term{code: "(double(" + a.code + ") " + string(operator) + " double(" + b.code + "))", kind: aNumber}, nil
	case operator == '+' && (a.kind == aText || b.kind == aText):
		return term{code: "(" + a.asText() + " + " + b.asText() + ")", kind: aText}, nil
	case a.kind == unknown || b.kind == unknown:
		return term{}, fmt.Errorf("the schema has to say whether both sides of %c are numbers or texts", operator)
	}
	return term{}, fmt.Errorf("%c needs two numbers", operator)
}
