// Package orchestration turns files of Azure's workload orchestration into the repositories of an application: schemas, configuration and solution
// templates, solution specifications, hierarchies and targets, in YAML or JSON.
//
//	rules.configs          source/config/schema.yaml, a JSON Schema with editableBy and rules in CEL
//	configs                configs/values.yaml, and configs/values.cel.yaml with what is computed
//	components             source/workload/delivery.yaml: the chart
//	level, children        folders of configs, and config.levels of the Delivery
//	properties of targets  source/workload/workload.yaml: the deployment targets
//
// A file is recognized by its keys, not by its name. Input is untrusted: its size, nesting and expressions are bounded. What has no counterpart is
// listed with file and line, and left out. Nothing is applied in part without being listed.
package orchestration

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Variables that expressions read values from: those of a configuration, and of rules of a schema.
const (
	config = "config"
	rules  = "self"
)

// Options name what the files do not.
type Options struct {
	// Name is the name of the application. // required
	Name string
	// Environment is the environment of the targets. // required
	Environment string
}

// Result is a set of repositories.
type Result struct {
	// Files are the files by path: below source those of the source, below configs those of the configuration.
	Files map[string][]byte
	// Problems are what could not be turned: errors are files that cannot be read, warnings are parts that were left out, notices are assumptions.
	Problems []fleet.Problem
}

// KindImport is the kind of the problems.
const KindImport fleet.ProblemKind = "import"

// Convert turns files, by path, into repositories.
func Convert(files map[string][]byte, o Options) *Result {
	c := &converter{
		options: o, schema: map[string]any{"type": "object"}, values: map[string]any{}, expressions: map[string]any{}, at: map[string]fleet.Position{},
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		c.file = file
		c.read(files[file])
	}
	c.plainValues()
	return c.result()
}

type converter struct {
	options Options
	file    string

	schema      map[string]any
	schemaRules []any
	values      map[string]any
	expressions map[string]any
	at          map[string]fleet.Position // of values and expressions, by path
	chart       map[string]any
	levels      []string
	folders     []string
	targets     []target
	problems    []fleet.Problem
	plain       []document // not recognized by their keys
}

// document is a document of a file.
type document struct {
	file string
	root *yaml.Node
}

type target struct {
	name   string
	labels map[string]string
	at     fleet.Position
}

func (c *converter) say(severity fleet.Severity, n *yaml.Node, hint, format string, args ...any) {
	if len(c.problems) == fleet.MaxProblems {
		return
	}
	p := fleet.Problem{Severity: severity, Kind: KindImport, Position: fleet.Position{File: c.file}, Message: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil {
		p.Position.Line = n.Line
	}
	c.problems = append(c.problems, p)
}

func (c *converter) skip(n *yaml.Node, format string, args ...any) {
	c.say(fleet.SeverityWarning, n, "it is left out; add it by hand", format, args...)
}

// maxDocuments is the maximum number of documents in a file.
const maxDocuments = 100

func (c *converter) read(text []byte) {
	if len(text) > values.MaxSize {
		c.say(fleet.SeverityError, nil, "split it", "the file has %d bytes, more than the %d that are read", len(text), values.MaxSize)
		return
	}
	// The rules of values files bound aliases and nesting.
	documents, line, err := fleet.ParseYAML(text, maxDocuments)
	if err != nil {
		c.say(fleet.SeverityError, &yaml.Node{Line: line}, "correct the file", "%v", err)
		return
	}
	for _, d := range documents {
		if aliased(d, 0) {
			c.say(fleet.SeverityError, d, "write them out", "aliases, and more than %d levels, are not supported", maxDepth)
			continue
		}
		c.document(d)
	}
}

// aliased reports whether a document has aliases, or nests too deep.
func aliased(n *yaml.Node, depth int) bool {
	return n.Kind == yaml.AliasNode || depth > maxDepth || slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return aliased(n, depth+1) })
}

func (c *converter) document(d *yaml.Node) {
	if d.Kind == yaml.SequenceNode {
		for _, item := range d.Content {
			c.document(item)
		}
		return
	}
	known := false
	for _, schema := range []*yaml.Node{d, field(d, "schema")} {
		rules := field(schema, "rules")
		if configs := field(rules, "configs"); configs != nil {
			rules = configs
		}
		if rules != nil {
			c.rules(rules)
			known = true
		}
	}
	if configs := field(d, "configs"); configs != nil && configs.Kind == yaml.MappingNode {
		c.configs(configs, nil)
		known = true
	}
	if d := field(d, "dependencies"); d != nil {
		c.skip(d, "dependencies on other solutions, with the values that they get, are written in the Workload, as dependsOn")
	}
	if components := field(d, "components"); components != nil {
		c.components(components)
		known = true
	}
	switch {
	case field(d, "level") != nil:
		c.hierarchy(d, "", 0)
	case isTarget(d):
		c.target(d)
	case !known:
		c.plain = append(c.plain, document{c.file, d})
	}
}

// plainValues takes documents that have nothing but values of the schema, as they are set with the service's command line.
func (c *converter) plainValues() {
	for _, p := range c.plain {
		c.file = p.file
		isValues := p.root.Kind == yaml.MappingNode && len(p.root.Content) > 0
		for i := 0; isValues && i < len(p.root.Content); i += 2 {
			_, isValues = properties(c.schema)[p.root.Content[i].Value]
		}
		if !isValues {
			c.skip(p.root, "this is not a schema, template, specification, hierarchy or target")
			continue
		}
		c.say(fleet.SeverityNotice, p.root, "", "all keys are those of the schema: they become values of all targets")
		c.configs(p.root, nil)
	}
}

// field returns the value of a key; nil if there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if strings.EqualFold(n.Content[i].Value, key) {
			return n.Content[i+1]
		}
	}
	return nil
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// configs adds the values of a template.
func (c *converter) configs(n *yaml.Node, at []string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		p := append(slices.Clone(at), key.Value)
		switch {
		case strings.HasPrefix(key.Value, "$"):
			c.skip(key, "%s has no counterpart", strings.Join(p, "."))
		case value.Kind == yaml.MappingNode && len(value.Content) > 0:
			c.configs(value, p)
		case value.Kind == yaml.ScalarNode && strings.Contains(value.Value, "${{"):
			c.expression(p, value)
		case hasExpression(value):
			c.skip(value, "%s is a list with expressions; write one expression for it", strings.Join(p, "."))
		default:
			var data any
			if err := plain(value).Decode(&data); err != nil {
				c.skip(value, "%s: %v", strings.Join(p, "."), err)
				continue
			}
			c.put(c.values, p, data, value)
		}
	}
}

// plain returns a value whose dates are texts.
func plain(n *yaml.Node) *yaml.Node {
	copied := *n
	if copied.ShortTag() == "!!timestamp" {
		copied.SetString(n.Value)
	}
	copied.Content = slices.Clone(n.Content)
	for i := range copied.Content {
		copied.Content[i] = plain(copied.Content[i])
	}
	return &copied
}

func hasExpression(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${{") || slices.ContainsFunc(n.Content, hasExpression)
}

func (c *converter) expression(at []string, n *yaml.Node) {
	name := strings.Join(at, ".")
	t, err := translate(n.Value, name, config)
	if err != nil {
		c.skip(n, "the expression of %s cannot be turned: %v", name, err)
		return
	}
	for _, note := range t.notes {
		c.say(fleet.SeverityNotice, n, "", "%s: %s", name, note)
	}
	if !t.same {
		c.put(c.expressions, at, t.text, n)
	}
}

// put adds a value, unless another file has another one at its path.
func (c *converter) put(in map[string]any, at []string, value any, n *yaml.Node) {
	name := strings.Join(at, "\x00")
	if before, twice := c.at[name]; twice {
		c.skip(n, "%s is set in %s, too", strings.Join(at, "."), before)
		return
	}
	c.at[name] = fleet.Position{File: c.file, Line: n.Line}
	for _, key := range at[:len(at)-1] {
		next, ok := in[key].(map[string]any)
		if !ok && in[key] != nil {
			c.skip(n, "%s is below a value that is not a map", strings.Join(at, "."))
			return
		}
		if !ok {
			next = map[string]any{}
			in[key] = next
		}
		in = next
	}
	if _, isMap := in[at[len(at)-1]].(map[string]any); isMap {
		c.skip(n, "%s is a map in another file", strings.Join(at, "."))
		return
	}
	in[at[len(at)-1]] = value
}

// components takes the chart of a specification.
func (c *converter) components(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		c.skip(n, "the components are not a list")
		return
	}
	for _, component := range n.Content {
		chart := field(field(component, "properties"), "chart")
		repo, version := text(field(chart, "repo")), text(field(chart, "version"))
		switch {
		case !strings.HasPrefix(text(field(component, "type")), "helm") || repo == "":
			c.skip(component, "the component %s of type %q is not a Helm chart", text(field(component, "name")), text(field(component, "type")))
		case strings.Contains(repo, "@"):
			c.skip(component, "the address of the chart has a user name or password")
		case c.chart != nil:
			c.skip(component, "the component %s is another chart; deliver it as an application of its own", text(field(component, "name")))
		default:
			if !strings.Contains(repo, "://") {
				repo = "oci://" + repo
			}
			c.chart = map[string]any{"repository": repo, "version": version}
			for _, other := range []string{"wait", "timeout"} {
				if v := field(chart, other); v != nil {
					c.say(fleet.SeverityNotice, v, "", "%s of the chart has no counterpart: the gate of an environment waits until the clusters are healthy", other)
				}
			}
		}
	}
}

// hierarchy adds the folders of a hierarchy.
func (c *converter) hierarchy(n *yaml.Node, above string, depth int) {
	name, level := text(field(n, "name")), text(field(n, "level"))
	if clean, err := fleet.CleanPath(name); err != nil || clean != name || name == "" || strings.Contains(name, "/") {
		c.skip(n, "%.100q cannot be the name of a folder", name)
		return
	}
	switch {
	case !isIdentifier(level):
		c.skip(n, "%.100q cannot be the name of a level", level)
		return
	case depth == len(c.levels):
		c.levels = append(c.levels, level)
	case c.levels[depth] != level:
		c.skip(n, "%s is of level %s, and others at its depth are of level %s", name, level, c.levels[depth])
		return
	}
	folder := path.Join(above, name)
	children := field(n, "children")
	if children != nil && children.Kind != yaml.SequenceNode {
		c.skip(children, "the children of %s are not a list", name)
		return
	}
	if children == nil || len(children.Content) == 0 {
		c.folders = append(c.folders, folder)
		return
	}
	for _, child := range children.Content {
		c.hierarchy(child, folder, depth+1)
	}
}

func isTarget(n *yaml.Node) bool {
	return strings.HasSuffix(strings.ToLower(text(field(n, "type"))), "/targets") || field(field(n, "properties"), "hierarchyLevel") != nil
}

func (c *converter) target(n *yaml.Node) {
	t := target{name: text(field(n, "name")), labels: map[string]string{}, at: fleet.Position{File: c.file, Line: n.Line}}
	properties := field(n, "properties")
	for _, key := range []string{"hierarchyLevel", "solutionScope"} {
		if v := text(field(properties, key)); v != "" && validLabel(v) {
			t.labels[key] = v
		}
	}
	if capabilities := field(properties, "capabilities"); capabilities != nil {
		for _, capability := range capabilities.Content {
			if v := text(capability); validLabel(v) && v != "" {
				t.labels["capability-"+v] = "true"
			}
		}
	}
	c.targets = append(c.targets, t)
}

func validLabel(v string) bool {
	return len(v) <= 50 && strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

// marshal returns YAML with a comment at the top.
func marshal(comment string, data any) []byte {
	var b bytes.Buffer
	b.WriteString("# " + comment + "\n")
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	_ = encoder.Encode(data) // maps, lists and scalars that came from YAML
	_ = encoder.Close()
	return b.Bytes()
}

func (c *converter) result() *Result {
	r := &Result{Files: map[string][]byte{}}
	if len(c.schemaRules) > 0 {
		c.schema["x-kubernetes-validations"] = c.schemaRules
	}
	delivery := map[string]any{"chart": c.chart, "config": map[string]any{"schema": "config/schema.yaml"}}
	if c.chart == nil {
		delivery["chart"] = map[string]any{"path": "helm"}
		c.file = ""
		c.say(fleet.SeverityWarning, nil, "set spec.chart of the Delivery", "no specification names a chart")
	}
	if len(c.levels) > 0 {
		var levels []any
		for _, level := range c.levels {
			levels = append(levels, map[string]any{"name": level})
		}
		delivery["config"].(map[string]any)["levels"] = levels
	}
	c.place(r, delivery)
	r.Files["source/config/schema.yaml"] = marshal("What values the configuration may have, and who may edit them.", c.schema)
	r.Files["configs/values.yaml"] = marshal("Values of all targets.", c.values)
	if len(c.expressions) > 0 {
		r.Files["configs/values.cel.yaml"] = marshal("Values that are computed.", c.expressions)
	}
	r.Files["source/workload/delivery.yaml"] = marshal("What is delivered, and with which configuration.", map[string]any{
		"apiVersion": "app.kalypso.io/v1alpha1", "kind": "Delivery", "metadata": map[string]any{"name": c.options.Name}, "spec": delivery,
	})
	c.verify(r)
	r.Problems = fleet.SortProblems(c.problems)
	return r
}

// place writes the deployment targets, and a folder for each.
func (c *converter) place(r *Result, delivery map[string]any) {
	var targets []any
	named := map[string]bool{}
	for _, t := range c.targets {
		c.file = t.at.File
		at := &yaml.Node{Line: t.at.Line}
		if !isLabel(t.name) || named[t.name] {
			c.skip(at, "%.100q cannot be the name of a target: it is not a DNS label, or is there twice", t.name)
			continue
		}
		named[t.name] = true
		targets = append(targets, map[string]any{"name": t.name, "environment": c.options.Environment, "labels": t.labels})
		folder := t.name
		switch i := slices.IndexFunc(c.folders, func(f string) bool { return path.Base(f) == t.name }); {
		case i >= 0:
			folder = c.folders[i]
		case len(c.folders) == 1:
			folder = path.Join(c.folders[0], t.name)
		case len(c.folders) > 1:
			c.say(fleet.SeverityWarning, at, "move its folder", "the files do not say which %s the target %s belongs to", c.levels[len(c.levels)-1], t.name)
		}
		r.Files["configs/"+folder+"/values.yaml"] = marshal("Values of the target "+t.name+".", map[string]any{})
	}
	if len(targets) == 0 {
		for _, folder := range c.folders {
			name := path.Base(folder)
			if !isLabel(name) || named[name] {
				c.file = ""
				c.skip(nil, "%.100q cannot be the name of a target: it is not a DNS label, or is there twice", name)
				continue
			}
			named[name] = true
			targets = append(targets, map[string]any{"name": name, "environment": c.options.Environment})
			r.Files["configs/"+folder+"/values.yaml"] = marshal("Values of the target "+name+".", map[string]any{})
		}
	}
	delivery["environments"] = []any{map[string]any{"name": c.options.Environment}}
	r.Files["source/workload/workload.yaml"] = marshal("The targets of the application.", map[string]any{
		"apiVersion": "scheduler.kalypso.io/v1alpha1", "kind": "Workload", "metadata": map[string]any{"name": c.options.Name},
		"spec": map[string]any{"deploymentTargets": append([]any{}, targets...)},
	})
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && strings.Trim(s, "-") == s
}

// verify reports what the results of the conversion do not allow.
func (c *converter) verify(r *Result) {
	if content, ok := r.Files["configs/values.cel.yaml"]; ok {
		_, problems := values.ParseExpressions("", "configs/values.cel.yaml", content)
		c.problems = append(c.problems, problems...)
	}
	if _, err := values.CompileSchema(fleet.Position{File: "source/config/schema.yaml"}, r.Files["source/config/schema.yaml"]); err != nil {
		c.file = "source/config/schema.yaml"
		c.say(fleet.SeverityError, nil, "correct the schema", "%v", err)
	}
}
