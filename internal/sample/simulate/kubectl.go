package simulate

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// errReadOnly is the error of every command except "get" and "api-resources".
var errReadOnly = errors.New("a simulated cluster is read-only: use get or api-resources, and make changes in Git")

// Kubectl writes what kubectl would print about a cluster, for a few commands: "get KINDS [NAME...]" with -n, -A and -o,
// and "api-resources". An unknown cluster is an [ErrUnknownCluster].
func (s *Simulation) Kubectl(w io.Writer, cluster string, args []string) error {
	m, err := s.machine(cluster)
	if err != nil {
		return err
	}
	var q selection
	if err := q.parse(args); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.command == "api-resources" {
		return m.writeKinds(w)
	}
	return m.get(w, q)
}

// selection is what a kubectl command asks for.
type selection struct {
	command   string
	kinds     []string
	names     []string
	namespace string
	all       bool // of all namespaces
	output    string
}

func (q *selection) parse(args []string) error {
	flags := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVarP(&q.namespace, "namespace", "n", "default", "")
	flags.BoolVarP(&q.all, "all-namespaces", "A", false, "")
	flags.StringVarP(&q.output, "output", "o", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	words := flags.Args()
	if len(words) == 0 {
		return errReadOnly
	}
	q.command = words[0]
	switch {
	case q.command == "api-resources" && len(words) == 1:
		return nil
	case q.command != "get":
		return errReadOnly
	case len(words) == 1:
		return errors.New("name a kind, for example: get configmaps -A")
	case !slices.Contains([]string{"", "wide", "yaml", "json", "name"}, q.output):
		return fmt.Errorf("output %q: want wide, yaml, json or name", q.output)
	}
	kinds, name, slash := strings.Cut(words[1], "/")
	q.kinds, q.names = strings.Split(kinds, ","), words[2:]
	if slash {
		q.names = append([]string{name}, q.names...)
	}
	return nil
}

// maxKinds is the most kinds in one command.
const maxKinds = 20

// get writes the selected objects.
func (m *machine) get(w io.Writer, q selection) error {
	if len(q.kinds) > maxKinds {
		return fmt.Errorf("%d kinds at once, want at most %d", len(q.kinds), maxKinds)
	}
	var found []*entry
	for _, name := range q.kinds {
		some, err := m.selectEntries(name, q)
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	switch q.output {
	case "yaml", "json":
		return m.writeDocuments(w, found, q)
	case "name":
		for _, e := range found {
			fmt.Fprintf(w, "%s/%s\n", strings.TrimSuffix(strings.ToLower(e.kind)+"."+e.group, "."), e.name)
		}
		return nil
	}
	return writeTables(w, found, q, m.now)
}

// selectEntries returns the selected objects of a kind, given by any of its names.
func (m *machine) selectEntries(name string, q selection) ([]*entry, error) {
	served := false
	all := q.all
	var found []*entry
	for e := range m.store.sorted() {
		k := e.builtin
		if !e.isBuiltin {
			k, _ = m.store.custom(e.gvk, nil)
		}
		if !k.isCalled(name) {
			continue
		}
		served = true
		if e.namespace != "" && !all && e.namespace != q.namespace || len(q.names) > 0 && !slices.Contains(q.names, e.name) {
			continue
		}
		found = append(found, e)
	}
	for _, wanted := range q.names {
		if !slices.ContainsFunc(found, func(e *entry) bool { return e.name == wanted }) {
			return nil, fmt.Errorf("%s %q not found", name, wanted)
		}
	}
	if !served && !slices.ContainsFunc(m.kinds(), func(k kind) bool { return k.isCalled(name) }) {
		return nil, fmt.Errorf("the simulated cluster doesn't have a resource type %q", name)
	}
	return found, nil
}

// kinds returns all kinds that a cluster serves, sorted.
func (m *machine) kinds() []kind {
	all := append(slices.Clone(m.store.kinds), m.store.defined()...)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if k, ok := builtin(gvk); ok {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, kind.compare)
	return all
}

func (m *machine) writeKinds(w io.Writer) error {
	t := table{header: []string{"NAME", "APIVERSION", "NAMESPACED", "KIND"}}
	for _, k := range m.kinds() {
		t.add(k.plural, k.GroupVersion().String(), fmt.Sprint(k.namespaced), k.Kind)
	}
	return t.write(w)
}

// writeDocuments writes one named object, or a list.
func (m *machine) writeDocuments(w io.Writer, found []*entry, q selection) error {
	items := make([]any, len(found))
	for i, e := range found {
		items[i] = e.compose(m.now).Object
	}
	object := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(q.names) == 1 && len(found) == 1 {
		object = found[0].compose(m.now).Object
	}
	if q.output == "json" {
		text, err := (&unstructured.Unstructured{Object: object}).MarshalJSON()
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
