package schemas

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ValidationsKeyword is the keyword for rules across values, as in the schemas of Kubernetes:
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
const ValidationsKeyword = "x-kubernetes-validations"

// Validation is a rule across values: an expression in CEL that must be true.
type Validation struct {
	Rule, Message string
}

// validations is the compiled keyword. Package formula evaluates it.
type validations []Validation

// Validate accepts every value.
func (validations) Validate(*jsonschema.ValidatorContext, any) {}

func compileValidations(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	written, ok := schema[ValidationsKeyword]
	if !ok {
		return nil, nil
	}
	list, ok := written.([]any)
	if !ok {
		return nil, fmt.Errorf("%s must be a list of rules, got %s", ValidationsKeyword, Show(written))
	}
	var all validations
	for _, item := range list {
		fields, _ := item.(map[string]any)
		rule, _ := fields["rule"].(string)
		message, isText := fields["message"].(string)
		if rule == "" || !isText && fields["message"] != nil {
			return nil, fmt.Errorf("%s has %s, want a rule and a message", ValidationsKeyword, Show(item))
		}
		for key := range fields {
			switch key {
			case "rule", "message", "reason", "fieldPath":
			default:
				return nil, fmt.Errorf("%s has a field that is not supported: want rule and message, got %s", ValidationsKeyword, Show(item))
			}
		}
		all = append(all, Validation{rule, message})
	}
	return all, nil
}

var validationsVocabulary = &jsonschema.Vocabulary{URL: "https://kalypso.io/vocabularies/validations", Compile: compileValidations}

// Validations returns the rules that a schema itself declares.
func Validations(s *jsonschema.Schema) []Validation {
	for _, x := range s.Extensions {
		if all, ok := x.(validations); ok {
			return all
		}
	}
	return nil
}
