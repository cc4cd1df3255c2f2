package check

// structuralSchema converts the schema of a custom resource to JSON Schema. Unknown fields are forbidden,
// because an API server drops them.
func structuralSchema(from map[string]any, root bool) map[string]any {
	s := validation(from, func(field map[string]any) map[string]any { return structuralSchema(field, false) })
	if from["x-kubernetes-int-or-string"] == true {
		s["type"] = []any{"string", "integer"}
	}
	if is, ok := s["type"].(string); ok && from["nullable"] == true {
		s["type"] = []any{is, "null"}
	}
	if root {
		rootFields(s)
	}
	_, fields := s["properties"]
	if _, open := s["additionalProperties"]; fields && !open && from["x-kubernetes-preserve-unknown-fields"] != true {
		s["additionalProperties"] = from["x-kubernetes-embedded-resource"] == true
	}
	return s
}

// condition converts a schema below allOf, anyOf, oneOf or not. It constrains fields
// that the enclosing schema defines, so it does not forbid others.
func condition(from map[string]any) map[string]any { return validation(from, condition) }

// validation copies the constraints of a schema, and converts its fields with field.
func validation(from map[string]any, field func(map[string]any) map[string]any) map[string]any {
	s := map[string]any{}
	for key, value := range from {
		switch key {
		case "type", "required", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength",
			"minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "multipleOf":
			s[key] = value
		case "properties":
			s[key] = fields(value, field)
		case "items", "additionalProperties":
			if below, ok := value.(map[string]any); ok {
				s[key] = field(below)
			}
		case "not":
			if below, ok := value.(map[string]any); ok {
				s[key] = condition(below)
			}
		case "allOf", "anyOf", "oneOf":
			if all := conditions(value); len(all) > 0 {
				s[key] = all
			}
		}
	}
	// An exclusive bound is a flag in OpenAPI, and a keyword with the bound in JSON Schema.
	for bound, excluded := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if limit, ok := s[bound]; ok && from[excluded] == true {
			delete(s, bound)
			s[excluded] = limit
		}
	}
	return s
}

func fields(from any, field func(map[string]any) map[string]any) map[string]any {
	made := map[string]any{}
	all, _ := from.(map[string]any)
	for name, value := range all {
		if below, ok := value.(map[string]any); ok {
			made[name] = field(below)
		}
	}
	return made
}

func conditions(from any) []any {
	var made []any
	all, _ := from.([]any)
	for _, value := range all {
		if below, ok := value.(map[string]any); ok {
			made = append(made, condition(below))
		}
	}
	return made
}

// rootFields adds the fields that every object has.
func rootFields(s map[string]any) {
	fields, ok := s["properties"].(map[string]any)
	if !ok {
		return
	}
	for name, is := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		fields[name] = map[string]any{"type": is}
	}
}
