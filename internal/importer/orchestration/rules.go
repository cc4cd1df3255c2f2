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

// rules adds the rules of a schema.
func (c *converter) rules(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		c.skip(n, "the rules are not a map")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, rule := n.Content[i], n.Content[i+1]
		path := strings.Split(key.Value, ".")
		if rule.Kind != yaml.MappingNode || slices.Contains(path, "") {
			c.skip(rule, "the rule of %.100q is not a map, or has an empty name", key.Value)
			continue
		}
		c.rule(path, rule)
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
	if _, twice := properties(parent)[last]; twice {
		c.skip(rule, "%s has a rule in another file, too", name)
		return
	}
	s := property(parent, last)
	for i := 0; i+1 < len(rule.Content); i += 2 {
		key, value := rule.Content[i], rule.Content[i+1]
		var data any
		if err := plain(value).Decode(&data); err != nil {
			c.skip(value, "%s of %s: %v", key.Value, name, err)
			continue
		}
		switch key.Value {
		case "type":
			c.typed(s, name, value)
		case "required":
			switch strings.ToLower(value.Value) {
			case "true", "yes":
				list, _ := parent["required"].([]any)
				parent["required"] = append(list, last)
			case "false", "no":
			default:
				c.skip(value, "required of %s is neither true nor false", name)
			}
		case "description":
			s["description"] = data
		case "pattern":
			s["pattern"] = data
		case "allowedValues":
			s["enum"] = data
		case "disallowedValues":
			s["not"] = map[string]any{"enum": data}
		case "minValue":
			s["minimum"] = data
		case "maxValue":
			s["maximum"] = data
		case "defaultValue":
			c.put(c.values, at, data, value)
		case "editableBy":
			s["editableBy"] = data
		case "expression":
			c.validation(at, value)
		default:
			c.skip(key, "%s of %s has no counterpart", key.Value, name)
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

// validation adds a rule in CEL.
func (c *converter) validation(at []string, n *yaml.Node) {
	name := strings.Join(at, ".")
	t, err := translate(n.Value, name, rules)
	if err != nil {
		c.skip(n, "the rule of %s cannot be turned: %v", name, err)
		return
	}
	for _, note := range t.notes {
		c.say(fleet.SeverityNotice, n, "", "%s: %s", name, note)
	}
	if strings.Contains(t.text, "target.labels") {
		c.skip(n, "the rule of %s reads the target, and rules read only values", name)
		return
	}
	c.schemaRules = append(c.schemaRules, map[string]any{"rule": t.text, "message": name + " must satisfy " + strings.TrimSpace(n.Value)})
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
