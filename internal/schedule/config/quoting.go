package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Quoting returns a notice for each value whose meaning depends on quotes: texts in single quotes, which lose them and are
// literal, and values in YAML's single quotes that are templates, maps or lists all the same.
func (c *Composer) Quoting() []fleet.Problem {
	var found []fleet.Problem
	for _, l := range c.layers {
		found = append(found, l.quoted...)
	}
	return fleet.SortProblems(slices.Clone(found))
}

// quoting returns the notice about one value, if it depends on quotes.
func (l *layer) quoting(e fleet.ConfigEntry) []fleet.Problem {
	y := e.Value
	if y == nil || y.Kind != yaml.ScalarNode {
		return nil
	}
	text, literal := unquoted(y.Value)
	var message, hint string
	switch {
	case literal:
		message = fmt.Sprintf("the text of %s is in single quotes: it is the literal string %s, without the quotes", e.Key, quoteText(e.Key, text))
		hint = "no change needed if that is intended; otherwise remove the quotes that are part of the text"
	case y.Style&yaml.SingleQuotedStyle != 0 && l.is(y) != "":
		message = fmt.Sprintf("the text of %s is %s; the single quotes in the file are YAML's own and do not make it literal", e.Key, l.is(y))
		hint = fmt.Sprintf("no change needed if that is intended; for the literal string, make the quotes part of the text: %q", cut("'"+check.RedactValue(e.Key, y.Value)+"'", maxShown))
	default:
		return nil
	}
	at := l.config.Position
	at.Line = y.Line
	return []fleet.Problem{{
		Severity: fleet.SeverityNotice, Kind: fleet.KindConfigQuoting, Object: l.ref(), Position: at, Message: message, Hint: hint,
	}}
}

// is returns what a text is if not just text; empty if it is.
func (l *layer) is(y *yaml.Node) string {
	n, err := readStructure(l, y)
	switch {
	case err != nil:
		return ""
	case n != nil && n.kind == list:
		return "a list"
	case n != nil:
		return "a map"
	case strings.Contains(y.Value, "{{"):
		return "a template"
	}
	return ""
}
