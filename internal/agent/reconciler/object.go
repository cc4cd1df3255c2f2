package reconciler

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is a Kubernetes object with any content: missing fields and fields of other types read as zero values.
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

// objects returns the objects in a list.
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

// texts returns the elements of a list; "" for those that are not strings.
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
	status  string // True, False, Unknown; empty if there is no such condition
	reason  string
	message string
	// generation is the object's generation when the condition was set; 0 if unknown.
	generation int64
}

func (o object) condition(kind string) condition {
	for _, c := range o.objects("status", "conditions") {
		if c.text("type") == kind {
			return conditionOf(c)
		}
	}
	return condition{}
}

// conditionOf reads a condition. Some write its status as a boolean, or in lower case.
func conditionOf(c object) condition {
	status := c.text("status")
	for _, known := range []string{"True", "False", "Unknown"} {
		if strings.EqualFold(fmt.Sprint(c["status"]), known) {
			status = known
		}
	}
	return condition{status, c.text("reason"), c.text("message"), c.number("observedGeneration")}
}

// outdated reports whether a condition is about an earlier specification.
func (o object) outdated(c condition) bool {
	seen := c.generation
	if seen == 0 {
		seen = o.number("status", "observedGeneration")
	}
	return seen > 0 && seen < o.number("metadata", "generation")
}

func (o object) removing() bool { return o.at("metadata", "deletionTimestamp") != nil }
