package orchestration

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// types are the types of a schema as JSON Schema has them.
var types = map[string]string{
	"string": "string", "int": "integer", "integer": "integer", "float": "number", "number": "number", "boolean": "boolean", "bool": "boolean", "object": "object", "array": "array",
}

// declare notes the types that the rules of a schema declare, which expressions in all files need.
func (c *converter) declare(n *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		of, _, isArray := strings.Cut(strings.ToLower(text(field(n.Content[i+1], "type"))), "[")
		if !isArray && types[of] != "" {
			c.kinds[n.Content[i].Value] = kinds[types[of]]
		}
	}
}

// schemaOf returns the rules and the validations of a schema, nil if it has none.
func schemaOf(n *yaml.Node) (rules *yaml.Node, validations []*yaml.Node) {
	rules = field(n, "rules")
	if v := field(n, "validations"); v != nil {
		validations = append(validations, v)
	}
	if configs := field(rules, "configs"); configs != nil {
		if v := field(rules, "validations"); v != nil {
			validations = append(validations, v)
		}
		return configs, validations
	}
	// Without the key configs, a rule of a value named validations has a type.
	if v := field(rules, "validations"); v != nil && field(v, "type") == nil {
		validations = append(validations, v)
	}
	return rules, validations
}

// rules adds the rules of a schema.
func (c *converter) rules(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		c.skip(n, "the rules are not a map")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, rule := n.Content[i], n.Content[i+1]
		path := strings.Split(key.Value, ".")
		switch {
		case key.Value == "validations" && field(rule, "type") == nil: // read by schemaOf
		case strings.HasPrefix(key.Value, "${{"):
			c.skip(key, "%.100s has no counterpart: put the file that it includes beside the others", key.Value)
		case rule.Kind != yaml.MappingNode || slices.Contains(path, ""):
			c.skip(rule, "the rule of %.100q is not a map, or has an empty name", key.Value)
		default:
			c.rule(path, rule)
		}
	}
}

// validations adds rules across values.
func (c *converter) validations(n *yaml.Node) {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	for _, v := range list {
		expression := field(v, "expression")
		if expression == nil || expression.Kind != yaml.ScalarNode {
			c.skip(v, "a validation has no expression")
			continue
		}
		c.unread(v, "a validation", "expression")
		c.validation(nil, expression)
	}
}

// rule adds the rule of a value.
func (c *converter) rule(at []string, rule *yaml.Node) {
	name := strings.Join(at, ".")
	parent := c.schema
	for _, key := range at[:len(at)-1] {
		parent = property(parent, key)
		parent["type"] = "object"
	}
	last := at[len(at)-1]
	if _, twice := properties(parent)[last]; twice && c.ruled[name] {
		c.skip(rule, "%s has a rule in another file, too", name)
		return
	}
	c.ruled[name] = true
	s := property(parent, last)
	for i := 0; i+1 < len(rule.Content); i += 2 {
		key, value := rule.Content[i], rule.Content[i+1]
		var data any
		if err := plain(value).Decode(&data); err != nil {
			c.skip(value, "%s of %s: %v", key.Value, name, err)
			continue
		}
		if keyword, direct := keywords[normal(key.Value)]; direct {
			s[keyword] = data
			continue
		}
		switch normal(key.Value) {
		case "type":
			c.typed(s, name, value)
		case "required":
			if yes, ok := c.truth(value, "required of "+name); ok && yes {
				list, _ := parent["required"].([]any)
				parent["required"] = append(list, last)
			}
		case "disabled":
			if yes, ok := c.truth(value, "disabled of "+name); ok && yes {
				c.skip(key, "disabled of %s has no counterpart", name)
			}
		case "disallowedvalues":
			s["not"] = map[string]any{"enum": data}
		case "placeholder":
			s["examples"] = []any{data}
		case "defaultvalue":
			c.defaults = append(c.defaults, standard{at, data, value, c.file})
		case "expression":
			c.validation(at, value)
		default:
			c.skip(key, "%s of %s has no counterpart", key.Value, name)
		}
	}
}

// keywords are the keys of rules that are keywords of JSON Schema with the same meaning.
var keywords = map[string]string{
	"description": "description", "label": "title", "pattern": "pattern", "allowedvalues": "enum", "minvalue": "minimum", "maxvalue": "maximum",
	"editableby": "editableBy",
}

// normal returns a key as it is compared: without case, and min_value as minValue.
func normal(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// truth reads a boolean.
func (c *converter) truth(n *yaml.Node, what string) (value, ok bool) {
	switch strings.ToLower(n.Value) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	c.skip(n, "%s is neither true nor false", what)
	return false, false
}

// standard is the default value of a key.
type standard struct {
	path []string
	data any
	node *yaml.Node
	file string
}

// setDefaults adds the default values of keys that no file sets.
func (c *converter) setDefaults() {
	for _, d := range c.defaults {
		c.file = d.file
		if at := strings.Join(d.path, "\x00"); c.at[at].File == "" {
			c.put(c.values, d.path, d.data, d.node)
		}
	}
}

func (c *converter) typed(s map[string]any, name string, n *yaml.Node) {
	of, item, isArray := strings.Cut(strings.TrimSuffix(strings.ToLower(n.Value), "]"), "[")
	known, ok := types[of]
	if !ok {
		c.skip(n, "the type %q of %s is not known", n.Value, name)
		return
	}
	s["type"] = known
	if isArray && types[item] != "" {
		s["items"] = map[string]any{"type": types[item]}
	}
}

// validation adds a rule in CEL, for a value or for all of them.
func (c *converter) validation(at []string, n *yaml.Node) {
	name, what := strings.Join(at, "."), "the rule of "+strings.Join(at, ".")
	if at == nil {
		name, what = "the configuration", "the validation"
	}
	t, err := translate(n.Value, scope{of: strings.Join(at, "."), root: rules, kinds: c.kinds})
	if err != nil {
		c.skip(n, "%s cannot be turned: %v", what, err)
		return
	}
	for _, note := range t.notes {
		c.say(fleet.SeverityNotice, n, "", "%s: %s", name, note)
	}
	c.schemaRules = append(c.schemaRules, map[string]any{"rule": t.code, "message": name + " must satisfy " + strings.TrimSpace(n.Value)})
}

// property returns the schema of a property, which it adds.
func property(s map[string]any, key string) map[string]any {
	all := properties(s)
	sub, ok := all[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		all[key] = sub
	}
	return sub
}

func properties(s map[string]any) map[string]any {
	all, ok := s["properties"].(map[string]any)
	if !ok {
		all = map[string]any{}
		s["properties"] = all
	}
	return all
}
