package simulate

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Greeting is the page of an application that shows its configuration, as hello-world does.
type Greeting struct {
	Cluster, Namespace string
	// Application is the name of the Deployment, Image the image it runs.
	Application, Image string
	// Waits says why the application does not answer yet; empty if it does.
	Waits string `json:",omitempty"`
	// Settings are the environment variables of the container, by name.
	Settings []Setting
}

// Says is the greeting; empty for an application without one.
func (g Greeting) Says() string {
	i := slices.IndexFunc(g.Settings, func(s Setting) bool { return s.Name == "GREETING" })
	if i < 0 {
		return ""
	}
	return g.Settings[i].Value
}

// Setting is an environment variable.
type Setting struct {
	Name, Value string
	// From is the ConfigMap that the value comes from; empty if the manifest has the value.
	From string `json:",omitempty"`
}

// Greetings returns what the applications in a namespace of a cluster show, by name. They have the configuration that
// has reached the cluster, as if they restarted whenever it changes.
// An unknown cluster is an [ErrUnknownCluster]; a namespace without applications has no greetings.
func (s *Simulation) Greetings(cluster, namespace string) ([]Greeting, error) {
	m, err := s.machine(cluster)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Greeting
	for e := range m.store.sorted() {
		if runsPods(e.key) && e.namespace == namespace {
			all = append(all, m.greet(e))
		}
	}
	return all, nil
}

// GreetingsOf returns what applications in a namespace show, by name, from the objects of a real cluster:
// its Deployments and ConfigMaps. It does not say whether the pods run.
func GreetingsOf(cluster, namespace string, objects []*unstructured.Unstructured) []Greeting {
	m := &machine{Cluster: Cluster{Name: cluster}, store: newStore(Flux)}
	at := func() time.Duration { return 0 }
	for _, o := range objects {
		m.store.put(manifestOf(o.Object), key{}, m.now, at)
	}
	var all []Greeting
	for e := range m.store.sorted() {
		if runsPods(e.key) && e.namespace == namespace {
			all = append(all, m.greet(e))
		}
	}
	return all
}

func (m *machine) greet(e *entry) Greeting {
	g := Greeting{Cluster: m.Name, Namespace: e.namespace, Application: e.name}
	if m.now.Before(e.available) {
		g.Waits = "its pods are starting"
	}
	containers := e.fields.list("spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return g
	}
	g.Image = containers[0].text("image")
	values := map[string]Setting{}
	for _, from := range containers[0].list("envFrom") {
		m.takeAll(&g, values, from.text("prefix"), from.fieldsAt("configMapRef"))
	}
	for _, variable := range containers[0].list("env") {
		m.take(&g, values, variable)
	}
	for _, v := range values {
		g.Settings = append(g.Settings, v)
	}
	slices.SortFunc(g.Settings, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return g
}

// configMap returns the data of a ConfigMap that a manifest refers to. If it does not exist, the greeting waits for it.
func (m *machine) configMap(g *Greeting, ref fields) fields {
	e := m.store.entries[key{kind: "ConfigMap", namespace: g.Namespace, name: ref.text("name")}]
	if e == nil {
		if !ref.is("optional") {
			g.Waits = fmt.Sprintf("CreateContainerConfigError: configmap %q not found", ref.text("name"))
		}
		return nil
	}
	return e.fields.fieldsAt("data")
}

func (m *machine) takeAll(g *Greeting, values map[string]Setting, prefix string, ref fields) {
	if ref == nil {
		return
	}
	data := m.configMap(g, ref)
	for name := range data {
		values[prefix+name] = Setting{prefix + name, data.text(name), ref.text("name")}
	}
}

func (m *machine) take(g *Greeting, values map[string]Setting, variable fields) {
	name := variable.text("name")
	ref := variable.fieldsAt("valueFrom", "configMapKeyRef")
	if ref == nil {
		if variable.at("valueFrom") == nil {
			values[name] = Setting{Name: name, Value: variable.text("value")}
		}
		return
	}
	data := m.configMap(g, ref)
	if _, ok := data[ref.text("key")]; !ok && data != nil && !ref.is("optional") {
		g.Waits = fmt.Sprintf("CreateContainerConfigError: couldn't find key %s in ConfigMap %s/%s", ref.text("key"), g.Namespace, ref.text("name"))
	}
	if data != nil {
		values[name] = Setting{name, data.text(ref.text("key")), ref.text("name")}
	}
}

//go:embed greeting.html
var greetingPage string

// writeGreeting writes the page of an application.
func writeGreeting(w io.Writer, g Greeting) error {
	page, err := template.New("greeting").Parse(greetingPage)
	if err != nil {
		return err
	}
	return page.Execute(w, g)
}
