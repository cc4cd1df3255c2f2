package reconciler

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is a Kubernetes object whose fields may be missing or of any type: what is not as expected reads as nothing.
type object map[string]any

func (o object) at(path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(o, path...)
	if err != nil {
		return nil
	}
	return value
}

func (o object) text(path ...string) string {
	text, _ := o.at(path...).(string)
	return text
}

func (o object) is(path ...string) bool {
	yes, _ := o.at(path...).(bool)
	return yes
}

func (o object) number(path ...string) int64 {
	switch n := o.at(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// objects returns the elements of a list that are objects.
func (o object) objects(path ...string) []object {
	list, _ := o.at(path...).([]any)
	var all []object
	for _, element := range list {
		if fields, ok := element.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}

// texts returns the elements of a list; those that are no text as "".
func (o object) texts(path ...string) []string {
	list, _ := o.at(path...).([]any)
	all := make([]string, len(list))
	for i, element := range list {
		all[i], _ = element.(string)
	}
	return all
}

// condition is one of status.conditions.
type condition struct {
	status  string // True, False, Unknown; empty when there is none of that type
	reason  string
	message string
	// generation is that of the object when the condition was set; 0 when it does not say.
	generation int64
}

func (o object) condition(kind string) condition {
	for _, c := range o.objects("status", "conditions") {
		if c.text("type") == kind {
			return condition{c.text("status"), c.text("reason"), c.text("message"), c.number("observedGeneration")}
		}
	}
	return condition{}
}

// outdated says whether a condition speaks of an earlier specification than the present one.
func (o object) outdated(c condition) bool {
	seen := c.generation
	if seen == 0 {
		seen = o.number("status", "observedGeneration")
	}
	return seen > 0 && seen < o.number("metadata", "generation")
}

func (o object) removing() bool { return o.at("metadata", "deletionTimestamp") != nil }
