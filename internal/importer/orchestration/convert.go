// Package orchestration turns files of Azure's workload orchestration into the repositories of an application: schemas, configuration and solution
// templates, solution specifications, hierarchies and targets, in YAML or JSON.
//
//	rules, validations     source/config/schema.yaml, a JSON Schema with editableBy and rules in CEL
//	configs                configs/values.yaml, and configs/values.cel.yaml with what is computed
//	components             source/workload/delivery.yaml: the chart
//	level, children        folders of configs, and config.levels of the Delivery
//	properties of targets  source/workload/workload.yaml: the deployment targets
//
// A file is recognized by its keys, not by its name. Input is untrusted: its size, nesting and expressions are bounded. What has no counterpart is
// listed with file and line, and left out: each key that is not read is listed. An expression has the same result as in the service, or is listed.
//
// # Expressions
//
// The service has a language without types: the text "5" is a number where one is needed. CEL has types, so an expression is translated with what
// the schema declares, and converts everything else:
//
//	parser ─► term: CEL, with its type if it is known ─► apply, arithmetic ─► translation, joined with the texts around it
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
	// Problems are what could not be turned: errors are files that cannot be read, and an application without targets; warnings are parts that were
	// left out, notices are assumptions.
	Problems []fleet.Problem
}

// KindImport is the kind of the problems.
const KindImport fleet.ProblemKind = "import"

// Convert turns files, by path, into repositories.
func Convert(files map[string][]byte, o Options) *Result {
	c := &converter{
		options: o, schema: map[string]any{"type": "object"}, values: map[string]any{}, expressions: map[string]any{}, at: map[string]fleet.Position{},
		kinds: map[string]kind{}, ruled: map[string]bool{}, used: map[string]bool{},
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		c.file = file
		c.read(files[file])
	}
	for _, d := range c.documents {
		for _, schema := range []*yaml.Node{d.root, field(d.root, "schema")} {
			declared, _ := schemaOf(schema)
			c.declare(declared)
		}
	}
	for i := range c.documents {
		c.file = c.documents[i].file
		c.documents[i].known = c.schemaIn(c.documents[i].root)
	}
	for _, d := range c.documents {
		c.file = d.file
		c.document(d)
	}
	c.plainValues()
	c.setDefaults()
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
	kinds       map[string]kind           // that rules declare, by the names of values
	ruled       map[string]bool           // values with a rule
	used        map[string]bool           // values that expressions read
	defaults    []standard
	chart       map[string]any
	release     string
	levels      []string
	folders     []site
	targets     []target
	problems    []fleet.Problem
	documents   []document
	plain       []document // not recognized by their keys
}

// document is a document of a file.
type document struct {
	file string
	root *yaml.Node
	// known means that it has a part that was read.
	known bool
}

// site is a lowest folder of a hierarchy.
type site struct {
	path string
	at   fleet.Position
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
		c.collect(d)
	}
}

// collect adds a document, or the elements of a list.
func (c *converter) collect(d *yaml.Node) {
	if d.Kind != yaml.SequenceNode {
		c.documents = append(c.documents, document{file: c.file, root: d})
		return
	}
	for _, item := range d.Content {
		c.collect(item)
	}
}

// aliased reports whether a document has aliases, or nests too deep.
func aliased(n *yaml.Node, depth int) bool {
	return n.Kind == yaml.AliasNode || depth > maxDepth || slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return aliased(n, depth+1) })
}

// schemaIn reads the schema of a document, and reports whether there is one.
func (c *converter) schemaIn(d *yaml.Node) bool {
	known := false
	for _, schema := range []*yaml.Node{d, field(d, "schema")} {
		rules, validations := schemaOf(schema)
		if rules != nil {
			c.rules(rules)
		}
		for _, v := range validations {
			c.validations(v)
		}
		known = known || rules != nil || validations != nil
	}
	return known
}

// document reads everything but the schema.
func (c *converter) document(of document) {
	d := of.root
	switch {
	case field(d, "level") != nil:
		c.hierarchy(d, "", 0)
		return
	case isTarget(d):
		c.target(d)
		return
	}
	known := of.known
	if configs := field(d, "configs"); configs != nil && configs.Kind == yaml.MappingNode {
		c.configs(configs, nil)
		known = true
	}
	if d := field(d, "dependencies"); d != nil {
		c.skip(d, "dependencies on other solutions, with the values that they get, are written in the Workload, as dependsOn")
		known = true
	}
	if components := field(d, "components"); components != nil {
		c.components(components)
		known = true
	}
	if !known {
		c.plain = append(c.plain, of)
		return
	}
	c.unread(d, "the file", "schema", "metadata", "rules", "validations", "configs", "dependencies", "components")
	c.unread(field(d, "schema"), "schema", "name", "version", "subscription", "resourceGroupName", "rules", "validations")
	if rules := field(d, "rules"); field(rules, "configs") != nil {
		c.unread(rules, "rules", "configs", "validations")
	}
}

// unread lists the keys of a map that nothing reads.
func (c *converter) unread(n *yaml.Node, of string, read ...string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !slices.ContainsFunc(read, func(r string) bool { return strings.EqualFold(r, key.Value) }) {
			c.skip(key, "%.100s of %s has no counterpart", key.Value, of)
		}
	}
}

// plainValues takes documents that have nothing but values of the schema or of a template, as they are set with the service's command line.
func (c *converter) plainValues() {
	for _, p := range c.plain {
		c.file = p.file
		isValues := p.root.Kind == yaml.MappingNode && len(p.root.Content) > 0
		for i := 0; isValues && i < len(p.root.Content); i += 2 {
			key := p.root.Content[i].Value
			_, isValues = properties(c.schema)[key]
			isValues = isValues || c.used[key]
		}
		if !isValues {
			c.skip(p.root, "this is not a schema, template, specification, hierarchy or target")
			continue
		}
		c.say(fleet.SeverityNotice, p.root, "", "all keys are those of the schema or template: they become values of all targets")
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
			c.skip(key, "%s has no counterpart: put the file that it includes beside the others", strings.Join(p, "."))
		case value.ShortTag() == "!!null" && c.defaulted(p): // the default value applies
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
	t, err := translate(n.Value, scope{of: name, root: config, kinds: c.kinds})
	if err != nil {
		c.skip(n, "the expression of %s cannot be turned: %v", name, err)
		return
	}
	for _, note := range t.notes {
		c.say(fleet.SeverityNotice, n, "", "%s: %s", name, note)
	}
	single, err := yaml.Marshal(map[string]string{name: t.code})
	if _, problems := values.ParseExpressions("", "", single); err != nil || len(problems) > 0 {
		c.skip(n, "the expression of %s cannot be turned: its types do not fit", name)
		return
	}
	for _, read := range t.reads {
		first, _, _ := strings.Cut(read, ".")
		c.used[first] = true
	}
	if !t.same {
		c.put(c.expressions, at, t.code, n)
	}
}

// defaulted reports whether a value has a default.
func (c *converter) defaulted(at []string) bool {
	return slices.ContainsFunc(c.defaults, func(d standard) bool { return slices.Equal(d.path, at) })
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
		properties := field(component, "properties")
		chart := field(properties, "chart")
		repo, version := text(field(chart, "repo")), text(field(chart, "version"))
		switch {
		case !strings.HasPrefix(text(field(component, "type")), "helm") || repo == "":
			c.skip(component, "the component %s of type %q is not a Helm chart", text(field(component, "name")), text(field(component, "type")))
			continue
		case strings.Contains(repo, "@"):
			c.skip(component, "the address of the chart has a user name or password")
			continue
		case c.chart != nil:
			c.skip(component, "the component %s is another chart; deliver it as an application of its own", text(field(component, "name")))
			continue
		}
		if !strings.Contains(repo, "://") {
			repo = "oci://" + repo
		}
		c.chart = map[string]any{"repository": repo, "version": version}
		c.named(field(component, "name"))
		c.unread(component, "the component", "name", "type", "properties")
		c.unread(properties, "the component", "chart")
		c.unread(chart, "the chart", "repo", "version", "wait", "timeout")
		for _, other := range []string{"wait", "timeout"} {
			if v := field(chart, other); v != nil {
				c.say(fleet.SeverityNotice, v, "", "%s of the chart has no counterpart: the gate of an environment waits until the clusters are healthy", other)
			}
		}
	}
}

// named takes the name of a component, which is the name of the chart's release.
func (c *converter) named(n *yaml.Node) {
	switch name := text(n); {
	case name == "":
	case !isLabel(name) || len(name) > maxRelease:
		c.skip(n, "the name %.100q of the component has no counterpart: all targets have the same release name, which is spec.release of the Delivery", name)
	default:
		c.release = name
		c.say(fleet.SeverityNotice, n, "", "the release name that the chart sees is %s, the name of the component", name)
	}
}

// maxRelease is the maximum length of the name of a release.
const maxRelease = 53

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
	c.unread(n, name, "type", "name", "level", "children", "displayName", "description")
	folder := path.Join(above, name)
	children := field(n, "children")
	if children != nil && children.Kind != yaml.SequenceNode {
		c.skip(children, "the children of %s are not a list", name)
		return
	}
	if children == nil || len(children.Content) == 0 {
		c.folders = append(c.folders, site{folder, fleet.Position{File: c.file, Line: n.Line}})
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
	c.unread(n, "the target", "type", "name", "properties", "id", "systemData", "etag", "location", "extendedLocation")
	c.unread(properties, "the target", "hierarchyLevel", "solutionScope", "capabilities", "displayName", "description", "contextId", "provisioningState", "state", "objectType")
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
	if c.release != "" {
		delivery["release"] = c.release
	}
	if len(c.levels) > 0 {
		var levels []any
		for _, level := range c.levels {
			levels = append(levels, map[string]any{"name": level})
		}
		delivery["config"].(map[string]any)["levels"] = levels
	}
	delivery["environments"] = []any{map[string]any{"name": c.options.Environment}}
	r.Files["source/workload/workload.yaml"] = marshal("The targets of the application.", map[string]any{
		"apiVersion": "scheduler.kalypso.io/v1alpha1", "kind": "Workload", "metadata": map[string]any{"name": c.options.Name},
		"spec": map[string]any{"deploymentTargets": append([]any{}, c.place(r)...)},
	})
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

// place returns the deployment targets, and writes a folder for each.
func (c *converter) place(r *Result) []any {
	var found []placed
	for _, t := range c.targets {
		folder := ""
		switch i := slices.IndexFunc(c.folders, func(s site) bool { return strings.EqualFold(path.Base(s.path), t.name) }); {
		case i >= 0:
			folder = path.Dir(c.folders[i].path)
		case len(c.folders) == 1:
			folder = c.folders[0].path
		case len(c.folders) > 1:
			c.file = t.at.File
			c.say(fleet.SeverityWarning, &yaml.Node{Line: t.at.Line}, "move its folder", "the files do not say which %s the target %s belongs to",
				c.levels[len(c.levels)-1], t.name)
		}
		found = append(found, placed{target: t, folder: folder})
	}
	if len(c.targets) == 0 {
		for _, s := range c.folders {
			found = append(found, placed{target: target{name: path.Base(s.path), at: s.at}, folder: path.Dir(s.path)})
		}
	}
	var targets []any
	for _, t := range c.distinct(found) {
		entry := map[string]any{"name": t.name, "environment": c.options.Environment}
		if len(t.labels) > 0 {
			entry["labels"] = t.labels
		}
		targets = append(targets, entry)
		r.Files[path.Join("configs", t.folder, t.name, "values.yaml")] = marshal("Values of the target "+t.name+".", map[string]any{})
	}
	if len(targets) == 0 {
		c.file = ""
		c.say(fleet.SeverityError, nil, "add them to source/workload/workload.yaml, each with a folder in configs; or put the hierarchy or targets beside the other files",
			"the files have no targets: the application runs nowhere")
	}
	return targets
}

// placed is a target with the folder above its own.
type placed struct {
	target
	folder string
}

// distinct gives targets names that a Workload takes, each once: in lower case, and with the name of the folder above if another one has it.
func (c *converter) distinct(found []placed) []placed {
	count := map[string]int{}
	for _, t := range found {
		count[label(t.name)]++
	}
	var named []placed
	taken := map[string]bool{}
	for _, t := range found {
		name := label(t.name)
		if above := path.Base(t.folder); count[name] > 1 && above != "." {
			name = label(above + "-" + name)
		}
		c.file = t.at.File
		at := &yaml.Node{Line: t.at.Line}
		if !isLabel(name) || taken[name] {
			c.skip(at, "%.100q cannot be the name of a target: it is not a DNS label, or is there twice", t.name)
			continue
		}
		if name != t.name {
			c.say(fleet.SeverityNotice, at, "", "the target %.100q is named %s", t.name, name)
		}
		taken[name] = true
		t.name = name
		named = append(named, t)
	}
	return named
}

// label returns a name as a DNS label, if its characters have one.
func label(name string) string {
	return strings.Trim(strings.NewReplacer("_", "-", ".", "-", " ", "-").Replace(strings.ToLower(name)), "-")
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
