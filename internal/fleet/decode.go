package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// decoder decodes the YAML nodes of one document into Go values, as Kubernetes would from its JSON.
// It continues after a problem, to report all of them with line and field.
// It does not convert to JSON, which has no lines and costs more than parsing.
type decoder struct {
	object   Ref
	path     []string // of the current field: "spec", "deploymentTargets", "[0]"
	problems []Problem
	failed   bool         // the value cannot be used
	parts    []Unreadable // elements of a Workload that cannot be used
	lines    []int        // of the elements of a Workload that can be used
}

// fail reports an error at a node, and makes the value unusable.
func (d *decoder) fail(kind ProblemKind, n *yaml.Node, hint, format string, args ...any) {
	d.failed = true
	d.report(SeverityError, kind, n, hint, fmt.Sprintf(format, args...))
}

// warn reports a warning at a node.
func (d *decoder) warn(kind ProblemKind, n *yaml.Node, hint, format string, args ...any) {
	d.report(SeverityWarning, kind, n, hint, fmt.Sprintf(format, args...))
}

func (d *decoder) report(severity Severity, kind ProblemKind, n *yaml.Node, hint, message string) {
	if d.full() {
		return
	}
	d.problems = append(d.problems, Problem{
		Severity: severity, Kind: kind, Object: d.object, Position: Position{Line: n.Line}, Message: message, Hint: hint,
	})
}

// full reports whether the document has the maximum number of problems.
func (d *decoder) full() bool { return len(d.problems) >= MaxProblems }

// field returns the path of the current field, followed by the given names.
func (d *decoder) field(names ...string) string {
	path := strings.Join(append(d.path[:len(d.path):len(d.path)], names...), ".")
	if path == "" {
		return "the document"
	}
	return strings.ReplaceAll(path, ".[", "[")
}

// within calls decode with the path extended by a name.
func (d *decoder) within(name string, decode func()) {
	d.path = append(d.path, name)
	decode()
	d.path = d.path[:len(d.path)-1]
}

// into decodes a node into the value that out points to.
func (d *decoder) into(n *yaml.Node, out any) { d.value(n, reflect.ValueOf(out).Elem()) }

// value decodes a node into a settable value. A node that cannot be decoded is reported, and the value stays zero.
func (d *decoder) value(n *yaml.Node, out reflect.Value) {
	t := out.Type()
	if t == nodeType {
		out.Set(reflect.ValueOf(n))
		return
	}
	if n.Tag == nullTag {
		return // a field without content counts as absent
	}
	if reflect.PointerTo(t).Implements(jsonType) {
		d.custom(n, out)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(t.Elem()))
		d.value(n, out.Elem())
	case reflect.Struct:
		d.structure(n, out)
	case reflect.Map:
		if t.Elem().Kind() == reflect.Slice || reflect.PointerTo(t.Elem()).Implements(jsonType) {
			d.values(n, out)
			return
		}
		d.texts(n, out)
	case reflect.Slice:
		d.list(n, out)
	default:
		d.scalar(n, out)
	}
}

var (
	nodeType   = reflect.TypeFor[*yaml.Node]()
	jsonType   = reflect.TypeFor[json.Unmarshaler]()
	targetType = reflect.TypeFor[v1alpha1.WorkloadTarget]()
)

const (
	nullTag      = "!!null"
	stringTag    = "!!str"
	timestampTag = "!!timestamp"
)

// structure decodes the fields of a struct by their names in JSON.
func (d *decoder) structure(n *yaml.Node, out reflect.Value) {
	if !d.mapping(n) {
		return
	}
	fields := fieldsOf(out.Type())
	for key, value := range pairs(n) {
		index, known := fields[key.Value]
		if !known && d.full() {
			continue // saves the search for a similar name
		}
		if !known {
			d.unknownField(key, fields)
			continue
		}
		d.path = append(d.path, key.Value)
		d.value(value, out.FieldByIndex(index))
		d.path = d.path[:len(d.path)-1]
	}
}

// unknownField reports a field that is ignored. A typo of a known field is an error: what the field says is unknown. So is any unknown
// field in a policy: a selector whose only condition is misspelled would select everything, and schedule an application to the whole
// fleet. The status is not read.
func (d *decoder) unknownField(key *yaml.Node, known fields) {
	report := d.warn
	if nearest.Typo(key.Value, known.names()) != "" && (len(d.path) == 0 || d.path[0] != "status") {
		report = d.fail
	}
	if (d.object.Kind == kindPolicy || d.object.Kind == kindGrant) && len(d.path) > 0 && d.path[0] == "spec" {
		report = d.fail
	}
	report(KindUnknownField, key, didYouMean(key.Value, known.names()), "%s is not a field", quoteShort(d.field(key.Value)))
}

// values decodes a map whose values are lists, or implement json.Unmarshaler, such as quantities.
func (d *decoder) values(n *yaml.Node, out reflect.Value) {
	if !d.mapping(n) {
		return
	}
	typed := reflect.MakeMapWithSize(out.Type(), len(n.Content)/2)
	for key, node := range pairs(n) {
		value := reflect.New(out.Type().Elem()).Elem()
		d.within(key.Value, func() { d.element(node, value) })
		typed.SetMapIndex(reflect.ValueOf(key.Value), value)
	}
	out.Set(typed)
}

// element decodes a value of such a map. A quantity that is empty would be zero, and one with a large exponent takes for ever to
// compare.
func (d *decoder) element(n *yaml.Node, out reflect.Value) {
	switch {
	case n.Tag == nullTag:
		d.fail(KindWrongType, n, "write a value, or remove it", "%s is empty", quoteShort(d.field()))
	case out.Type() == quantityType && !plainQuantity.MatchString(n.Value):
		d.wrongType(n, d.field(), wantedCustom(out.Type()))
	default:
		d.value(n, out)
	}
}

var (
	quantityType  = reflect.TypeFor[resource.Quantity]()
	plainQuantity = regexp.MustCompile(`^[+-]?[0-9.]{1,24}([eE][+-]?[0-9]{1,2}|[A-Za-z]{1,2})?$`)
)

// texts decodes a map of strings. Kubernetes refuses values that are not strings (edge: true);
// here they are converted with a warning, because that is what the author meant.
func (d *decoder) texts(n *yaml.Node, out reflect.Value) {
	if !d.mapping(n) {
		return
	}
	texts := make(map[string]string, len(n.Content)/2)
	for key, value := range pairs(n) {
		switch {
		case value.Tag == nullTag:
			texts[key.Value] = ""
			continue
		case value.Kind != yaml.ScalarNode:
			d.wrongType(value, d.field(key.Value), "a string")
			continue
		case !isText(value):
			d.warn(KindWrongType, value, fmt.Sprintf("put it in quotes: %q", value.Value),
				"%s is %s, but Kubernetes requires a string", quoteShort(d.field(key.Value)), describe(value))
		}
		texts[key.Value] = value.Value
	}
	if out.Type().Elem().Kind() != reflect.String {
		return // no kind that is read has another map
	}
	typed := reflect.MakeMapWithSize(out.Type(), len(texts))
	for key, text := range texts {
		typed.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(text).Convert(out.Type().Elem()))
	}
	out.Set(typed)
}

// list decodes the elements of a list. A deployment target that cannot be used is omitted; see target.
func (d *decoder) list(n *yaml.Node, out reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, d.field(), "a list")
		return
	}
	t := out.Type()
	list := reflect.MakeSlice(t, 0, len(n.Content))
	for i, element := range n.Content {
		value, use := reflect.New(t.Elem()).Elem(), true
		d.within("["+strconv.Itoa(i)+"]", func() {
			if t.Elem() == targetType {
				use = d.target(element, value)
			} else {
				d.value(element, value)
			}
		})
		if use {
			list = reflect.Append(list, value)
		}
	}
	out.Set(list)
}

// scalar decodes strings, numbers and booleans. A number is not converted to a string, because the text
// in the document (1.10) and the number (1.1) may differ; Kubernetes refuses it as well.
func (d *decoder) scalar(n *yaml.Node, out reflect.Value) {
	if n.Kind == yaml.ScalarNode {
		switch out.Kind() {
		case reflect.String:
			if isText(n) {
				out.SetString(n.Value)
				return
			}
		default:
			whole := out.CanInt() && n.Tag != "!!int"
			if n.Tag != stringTag && !whole && n.Decode(out.Addr().Interface()) == nil {
				return
			}
		}
	}
	hint := ""
	if out.Kind() == reflect.String && n.Kind == yaml.ScalarNode {
		// A commit without letters is a number in YAML, and so is one whose only letter is an "e".
		hint = "put it in quotes: " + quoteShort(n.Value)
	}
	d.fail(KindWrongType, n, hint, "%s is %s, want %s", quoteShort(d.field()), describe(n), wanted(out.Kind()))
}

// custom decodes types that implement json.Unmarshaler, such as times, durations and IntOrString.
func (d *decoder) custom(n *yaml.Node, out reflect.Value) {
	text, err := json.Marshal(d.plain(n))
	if err == nil {
		err = json.Unmarshal(text, out.Addr().Interface())
	}
	if err != nil {
		d.wrongType(n, d.field(), wantedCustom(out.Type()))
	}
}

// mapping reports whether the node is a map. It reports a problem if it is not, or has a duplicate key.
func (d *decoder) mapping(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, d.field(), "a map")
		return false
	}
	if key, first := repeatedKey(n); key != nil {
		d.fail(KindDuplicate, key, "keep one of them", "%s is set twice, on lines %s",
			quoteShort(d.field(key.Value)), joinLines([]int{first.Line, key.Line}))
	}
	return true
}

// repeatedKey returns the first duplicate key of a map, and its first occurrence.
func repeatedKey(n *yaml.Node) (key, first *yaml.Node) {
	const few = 16 // comparing all pairs is faster than a map up to here
	if len(n.Content) > 2*few {
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for key := range pairs(n) {
			if first := seen[key.Value]; first != nil {
				return key, first
			}
			seen[key.Value] = key
		}
		return nil, nil
	}
	for i := 2; i < len(n.Content); i += 2 {
		for j := 0; j < i; j += 2 {
			if n.Content[i].Value == n.Content[j].Value {
				return n.Content[i], n.Content[j]
			}
		}
	}
	return nil, nil
}

func (d *decoder) wrongType(n *yaml.Node, field, want string) {
	d.fail(KindWrongType, n, "", "%s is %s, want %s", quoteShort(field), describe(n), want)
}

// joinLines lists lines for a message: "3 and 9".
func joinLines(lines []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", " and "), "[]")
}

// isText reports whether a scalar is a string. A date counts as one: JSON has no dates.
func isText(n *yaml.Node) bool { return n.Tag == stringTag || n.Tag == timestampTag }

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == nullTag:
		return "empty"
	case n.Tag == "!!bool":
		return "a boolean"
	case n.Tag == "!!int", n.Tag == "!!float":
		return "a number"
	case !isText(n):
		return "of the type " + quoteShort(n.Tag)
	}
	return "a string"
}

// wantedCustom describes the format of types that implement json.Unmarshaler.
func wantedCustom(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return "a duration such as 1h30m"
	case reflect.TypeFor[metav1.Time]():
		return "a time such as 2024-01-31T12:00:00Z"
	case reflect.TypeFor[resource.Quantity]():
		return "a quantity such as 500m, 2 or 4Gi"
	case reflect.TypeFor[intstr.IntOrString]():
		return `a number or a percentage such as "20%"`
	}
	return "something else"
}

func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	}
	return "a number"
}
