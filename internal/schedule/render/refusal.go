package render

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Clusters apply the folder of their cluster type as a whole, and refuse all of it for one invalid object. The checks in this
// file find what they can in advance, so that only one assignment is held: names, labels, and URLs for Flux.

// rule is a rule of the API server for a string in an object.
type rule struct {
	// tame is the maximum length of a DNS label that always satisfies the rule: a fast path for nearly all values. 0 for none.
	tame int
	// broken returns what is wrong with a value. Empty if it is valid.
	broken func(value string) []string
	hint   string
}

var (
	anyText    = &rule{tame: fleet.MaxLabel, broken: func(string) []string { return nil }}
	dnsLabel   = &rule{tame: fleet.MaxLabel, broken: validation.IsDNS1123Label}
	dnsDomain  = &rule{tame: fleet.MaxLabel, broken: validation.IsDNS1123Subdomain}
	pathPart   = &rule{tame: fleet.MaxLabel, broken: content.IsPathSegmentName}
	labelValue = &rule{tame: fleet.MaxLabel, broken: validation.IsValidLabelValue, hint: "use an annotation instead of a label"}
)

// spot is a place in a text with a rule for its value.
type spot struct {
	line, column int // of the value; both count from 1
	field        string
	rule         *rule
}

// refusal returns the finding for a value that breaks the rule, or nil.
func (s *spot) refusal(value string, isText bool) *finding {
	wrong, hint := []string{"it is not a string"}, "put it in quotes (quote)"
	if isText {
		wrong, hint = s.rule.broken(value), s.rule.hint
	}
	if len(wrong) == 0 {
		return nil
	}
	why, _, _ := strings.Cut(wrong[0], " (e.g.") // what follows is a regular expression
	return &finding{
		line: s.line, kind: fleet.KindTemplateOutput, hint: hint,
		message: fmt.Sprintf("a cluster would refuse %s %.100q: %s", s.field, value, brief(why)),
	}
}

// rules checks an object, and records the places where the value can differ between outputs with the same verdict.
func (v *verdict) rules(root *yaml.Node) {
	group, _, _ := strings.Cut(child(root, "apiVersion").Value, "/")
	kind, metadata := child(root, "kind").Value, child(root, "metadata")
	name := dnsDomain
	switch {
	case group == "rbac.authorization.k8s.io":
		name = pathPart
	case kind == "Namespace" && group == "v1":
		name = dnsLabel
	}
	v.rule(metadata, "metadata", "name", name)
	v.rule(metadata, "metadata", "namespace", dnsLabel)
	v.texts(child(metadata, "labels"), "metadata.labels", validation.IsQualifiedName, labelValue)
	v.texts(child(metadata, "annotations"), "metadata.annotations", annotationKey, anyText)
	switch {
	case kind == "ConfigMap" && group == "v1":
		v.texts(child(root, "data"), "data", validation.IsConfigMapKey, anyText)
	case kind == "Secret" && group == "v1":
		v.texts(child(root, "stringData"), "stringData", validation.IsConfigMapKey, anyText)
	}
	for _, l := range limits[group+" "+kind] {
		v.limit(root, l)
	}
}

func annotationKey(key string) []string { return validation.IsQualifiedName(strings.ToLower(key)) }

// limit checks the field of a limit.
func (v *verdict) limit(root *yaml.Node, l limit) {
	last := strings.LastIndexByte(l.field, '.')
	parent := root
	for key := range strings.SplitSeq(l.field[:last], ".") {
		parent = child(parent, key)
	}
	v.rule(parent, l.field[:last], l.field[last+1:], l.rule)
}

// texts checks the keys and values of a map of strings.
func (v *verdict) texts(n *yaml.Node, field string, key func(string) []string, value *rule) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value != "<<" {
			at := spot{line: k.Line, field: "the key of " + field, rule: &rule{broken: key}}
			v.refuse(at.refusal(k.Value, true))
			v.rule(n, field, k.Value, value)
		}
	}
}

// rule checks the value of a key, or records its place if it can differ between outputs. An absent or null value is valid.
func (v *verdict) rule(parent *yaml.Node, field, key string, r *rule) {
	n := child(parent, key)
	if n == nil || n.Tag == "!!null" {
		return
	}
	at := spot{line: n.Line, column: n.Column, field: field + "." + key, rule: r}
	isText := n.Kind == yaml.ScalarNode && n.Tag == "!!str"
	if len(v.words) > 0 {
		there, tag := scalar(lineFrom(skipLines(v.text, n.Line-1), n.Column))
		steady := there == n.Value && tag == n.Tag
		if steady && v.words[n.Line] {
			v.spots = append(v.spots, at)
			return
		}
		v.unsteady = v.unsteady || !steady
	}
	v.refuse(at.refusal(n.Value, isText))
}

// refuse records the first reason why the text is broken.
func (v *verdict) refuse(f *finding) {
	if v.broken == nil {
		v.broken = f
	}
}

// refused checks the recorded places in a text with this verdict. It returns why a cluster would refuse the text, or nil.
func (v *verdict) refused(text []byte) *finding {
	line := 1
	for i := range v.spots {
		s := &v.spots[i]
		text, line = skipLines(text, s.line-line), s.line
		rest := lineFrom(text, s.column)
		if isTame(rest, s.rule.tame) {
			continue
		}
		value, tag := scalar(rest)
		if tag == "!!null" { // like an absent field
			continue
		}
		if f := s.refusal(value, tag == "!!str"); f != nil {
			return f
		}
	}
	return nil
}

// settle sorts the spots by line, as refused requires, and frees the text.
func (v *verdict) settle() {
	v.text, v.words = nil, nil
	slices.SortStableFunc(v.spots, func(a, b spot) int { return cmp.Compare(a.line, b.line) })
}

// isTame reports whether the rest of a line is a DNS label of at most so many characters, and surely a string: in quotes, or
// with a dash between letters.
func isTame(rest []byte, length int) bool {
	quoted := isQuotedWord(rest)
	if quoted {
		rest = rest[1 : len(rest)-1]
	}
	if len(rest) == 0 || len(rest) > length || rest[0] == '-' || rest[len(rest)-1] == '-' {
		return false
	}
	for _, c := range rest {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return quoted || isSurelyText(rest)
}

// scalar returns the value and the tag of the node on the rest of a line. The tag is empty if it is not a single node.
func scalar(rest []byte) (value, tag string) {
	if isQuotedWord(rest) {
		return string(rest[1 : len(rest)-1]), "!!str"
	}
	if isPlainWord(rest) && (isSurelyText(rest) || bytes.Contains(rest, []byte("://"))) || isPlainText(rest) {
		return string(rest), "!!str"
	}
	var document yaml.Node
	// The prefix is needed because "..." at the beginning of a line is not a scalar.
	if err := yaml.Unmarshal(slices.Concat([]byte("k: "), rest), &document); err != nil || len(document.Content) != 1 {
		return "", ""
	}
	n := child(document.Content[0], "k")
	if n == nil {
		return "", ""
	}
	return n.Value, n.Tag
}

// isPlainText reports whether a line is several plain words, of which the first begins with a letter: numbers, dates and booleans
// are one word, or begin with a digit.
func isPlainText(line []byte) bool {
	if len(line) == 0 || !isLetter(line[0]) || bytes.IndexByte(line, ' ') < 0 {
		return false
	}
	for word := range bytes.SplitSeq(line, []byte(" ")) {
		if !isPlainWord(word) {
			return false
		}
	}
	return true
}

// skipLines returns the text after a number of lines.
func skipLines(text []byte, count int) []byte {
	for ; count > 0; count-- {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	return text
}

// lineFrom returns the rest of the first line of a text, from a column on.
func lineFrom(text []byte, column int) []byte {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return bytes.TrimRight(text[min(max(column-1, 0), len(text)):], " \t")
}
