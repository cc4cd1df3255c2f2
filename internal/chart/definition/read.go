package definition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Definition is what the files of a source repository say.
type Definition struct {
	// Deliveries are the Delivery documents that can be used, sorted by name.
	Deliveries []Delivery
	// Services are those that are listed in files of their own, in the original's form; sorted by name.
	Services []app.Service
	// Unreadable says that a document could not be used that may have been one of these.
	Unreadable bool
}

// Delivery is a document with its place.
type Delivery struct {
	*app.Delivery
	Position fleet.Position
}

// For returns the delivery of a workload; nil when there is none. Listed services are put in where it names none of its own.
func (d *Definition) For(workload string) *app.Delivery {
	var found *app.Delivery
	for _, delivery := range d.Deliveries {
		if delivery.Name == workload && delivery.Spec.Workload == "" || delivery.Spec.Workload == workload {
			found = delivery.DeepCopy()
		}
	}
	if len(d.Services) == 0 {
		return found
	}
	if found == nil {
		found = &app.Delivery{}
		found.Name = workload
	}
	s := &found.Spec
	if s.Chart == nil && s.Kustomization == "" && s.Manifests == "" && len(s.Services) == 0 {
		s.Services = slices.Clone(d.Services)
	}
	return found
}

// The bounds of what is read.
const (
	maxFile      = 1 << 20 // bytes
	maxDocuments = 1000
)

// Read reads the YAML files of a source repository, those below the registered path of the Workload.
// source is how people call it. Documents of other kinds are passed over. Problems are sorted.
func Read(source string, files []chart.File) (*Definition, []fleet.Problem) {
	r := reader{source: source}
	for _, f := range files {
		if ext := path.Ext(f.Path); (ext == ".yaml" || ext == ".yml") && !f.Symlink {
			r.file(f)
		}
	}
	d := &r.definition
	slices.SortFunc(d.Deliveries, func(a, b Delivery) int {
		return strings.Compare(a.Name+"\n"+a.Position.String(), b.Name+"\n"+b.Position.String())
	})
	slices.SortFunc(d.Services, func(a, b app.Service) int { return strings.Compare(a.Name, b.Name) })
	r.duplicates()
	return d, fleet.SortProblems(r.problems)
}

type reader struct {
	source     string
	definition Definition
	problems   []fleet.Problem
}

func (r *reader) fail(at fleet.Position, kind fleet.ProblemKind, name, message, hint string) {
	p := fleet.Problem{Severity: fleet.SeverityError, Kind: kind, Position: at, Message: message, Hint: hint}
	if name != "" {
		p.Object = fleet.Ref{Kind: "Delivery", Name: name}
	}
	r.problems = append(r.problems, p)
	r.definition.Unreadable = true
}

// file reads the documents of a file. One that is not ours and does not parse is somebody else's matter.
func (r *reader) file(f chart.File) {
	at := fleet.Position{Source: r.source, File: f.Path}
	ours := bytes.Contains(f.Content, []byte(app.GroupVersion.Group)) || bytes.Contains(f.Content, []byte("helm:"))
	if !ours {
		return
	}
	if len(f.Content) > maxFile {
		r.fail(at, fleet.KindFileTooLarge, "", fmt.Sprintf("the file has %d bytes, more than the %d that are read", len(f.Content), maxFile), "split it")
		return
	}
	decoder := yaml.NewDecoder(bytes.NewReader(f.Content))
	for range maxDocuments {
		var document yaml.Node
		err := decode(decoder, &document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.fail(at, fleet.KindYAMLSyntax, "", "not valid YAML: "+strings.TrimPrefix(err.Error(), "yaml: "), "correct the file")
			return
		}
		if len(document.Content) == 1 && document.Content[0].Kind == yaml.MappingNode {
			at.Line = document.Content[0].Line
			r.document(at, document.Content[0])
		}
	}
}

// decode reads one document. The parser has been seen to panic on input that it should refuse.
func decode(decoder *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return decoder.Decode(into)
}

// document reads a Delivery, or a service in the original's form, which has no kind.
func (r *reader) document(at fleet.Position, root *yaml.Node) {
	version, kind := field(root, "apiVersion"), field(root, "kind")
	group, _, _ := strings.Cut(version, "/")
	switch {
	case group == app.GroupVersion.Group && kind == "Delivery":
		if version != app.GroupVersion.String() {
			r.fail(at, fleet.KindUnknownVersion, "", fmt.Sprintf("the API version %.100q is not known", version), "write apiVersion: "+app.GroupVersion.String())
			return
		}
		r.delivery(at, root)
	case group == app.GroupVersion.Group:
		r.fail(at, fleet.KindUnknownKind, "", fmt.Sprintf("%.100q is not a kind of %s", kind, version), "did you mean Delivery?")
	case version == "" && kind == "" && field(root, "name") != "" && has(root, "helm"):
		r.service(at, root)
	}
}

func (r *reader) delivery(at fleet.Position, root *yaml.Node) {
	d := &app.Delivery{}
	if err := strictly(root, d); err != nil {
		r.fail(at, fleet.KindWrongType, "", "the delivery cannot be read: "+err.Error(), "correct it; the reference of Delivery lists its fields")
		return
	}
	if problems := check(d); len(problems) > 0 {
		for _, problem := range problems {
			r.fail(at, fleet.KindInvalidValue, d.Name, problem, "correct the delivery; nothing is rendered until then")
		}
		return
	}
	r.definition.Deliveries = append(r.definition.Deliveries, Delivery{d, at})
}

func (r *reader) service(at fleet.Position, root *yaml.Node) {
	var listed app.ListedService
	if err := strictly(root, &listed); err != nil {
		r.fail(at, fleet.KindWrongType, "", "the service cannot be read: "+err.Error(), "write name, and repository, chart and version below helm")
		return
	}
	service := listed.Service()
	if problems := checkService(service); len(problems) > 0 {
		for _, problem := range problems {
			r.fail(at, fleet.KindInvalidValue, "", problem, "correct the service")
		}
		return
	}
	r.definition.Services = append(r.definition.Services, service)
}

// strictly decodes a document, and refuses fields that do not exist and aliases, which nobody needs here.
func strictly(root *yaml.Node, into any) error {
	if hasAlias(root, 0) {
		return errors.New("it has aliases, or nests too deep")
	}
	text, err := yaml.Marshal(root)
	if err != nil {
		return err
	}
	if err := sigs.UnmarshalStrict(text, into); err != nil {
		return errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

func hasAlias(n *yaml.Node, depth int) bool {
	return n.Kind == yaml.AliasNode || depth > 50 || slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return hasAlias(c, depth+1) })
}

func field(root *yaml.Node, name string) string {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == name {
			return root.Content[i+1].Value
		}
	}
	return ""
}

func has(root *yaml.Node, name string) bool {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == name && root.Content[i+1].Kind == yaml.MappingNode {
			return true
		}
	}
	return false
}

// duplicates reports what is there twice, and leaves both out: nobody knows which of them was meant.
func (r *reader) duplicates() {
	d := &r.definition
	workload := func(x Delivery) string {
		if x.Spec.Workload != "" {
			return x.Spec.Workload
		}
		return x.Name
	}
	first := map[string]Delivery{}
	twice := map[string]bool{}
	for _, x := range d.Deliveries {
		name := workload(x)
		if other, there := first[name]; there {
			twice[name] = true
			r.fail(x.Position, fleet.KindDuplicate, x.Name, fmt.Sprintf("workload %q has another delivery in %s", name, other.Position), "remove one of them")
			continue
		}
		first[name] = x
	}
	d.Deliveries = slices.DeleteFunc(d.Deliveries, func(x Delivery) bool { return twice[workload(x)] })
	for i := 1; i < len(d.Services); i++ {
		if d.Services[i].Name == d.Services[i-1].Name {
			r.fail(fleet.Position{Source: r.source}, fleet.KindDuplicate, "", fmt.Sprintf("the service %q is listed twice", d.Services[i].Name), "remove one of them")
		}
	}
}
