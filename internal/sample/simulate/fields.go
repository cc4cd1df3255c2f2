package simulate

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// fields are the fields of an untrusted object: a value of an unexpected type reads as the zero value.
type fields map[string]any

func (f fields) at(path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(f, path...)
	if err != nil {
		return nil
	}
	return value
}

func (f fields) text(path ...string) string {
	text, _ := f.at(path...).(string)
	return text
}

func (f fields) is(path ...string) bool {
	yes, _ := f.at(path...).(bool)
	return yes
}

func (f fields) fieldsAt(path ...string) fields {
	inner, _ := f.at(path...).(map[string]any)
	return inner
}

// list returns the elements of a list that are maps.
func (f fields) list(path ...string) []fields {
	elements, _ := f.at(path...).([]any)
	var all []fields
	for _, element := range elements {
		if inner, ok := element.(map[string]any); ok {
			all = append(all, inner)
		}
	}
	return all
}
