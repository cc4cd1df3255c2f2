package deliver

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// DataChange is a ConfigMap or Secret of a target whose data change, with the workloads of the same target that read it.
type DataChange struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Immutable means that the published object is immutable: API servers refuse other data.
	Immutable bool `json:"immutable,omitempty"`
	// Readers are the workloads that have it in their environment or in a volume, by name. Others can read it in ways that manifests do not show.
	Readers []DataReader `json:"readers"`
}

// String formats the object as Kind/name, or Kind/namespace/name.
func (c DataChange) String() string {
	return ObjectChange{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}.String()
}

// DataReader is how a workload gets changed data. A workload that has some of the data in its environment and some in a volume is listed twice.
type DataReader struct {
	// Workload is the object, as Kind/name or Kind/namespace/name.
	Workload string       `json:"workload"`
	Effect   ReaderEffect `json:"effect"`
}

// ReaderEffect is when the containers of a workload get changed data.
type ReaderEffect string

// The effects of changed data.
const (
	// Restarts: the same change replaces the pods.
	Restarts ReaderEffect = "restarts"
	// RereadsFiles: the kubelet updates the files of the volume within its sync period. The pods do not restart.
	RereadsFiles ReaderEffect = "rereads-files"
	// NextRestart: environment variables, files mounted with subPath, and what init containers read stay until the pods are replaced.
	NextRestart ReaderEffect = "next-restart"
	// NextRun: the pods of the next run get the data.
	NextRun ReaderEffect = "next-run"
	// UnknownEffect: the manifests do not say whether the pods are replaced, or whether it is this object that they read.
	UnknownEffect ReaderEffect = "unknown"
)

// ReaderEffects are all effects, the most disruptive first.
var ReaderEffects = []ReaderEffect{Restarts, NextRestart, RereadsFiles, NextRun, UnknownEffect}

// String describes the effect, as the end of a sentence whose subject is workloads.
func (e ReaderEffect) String() string {
	switch e {
	case Restarts:
		return "restart with this change"
	case NextRestart:
		return "keep the old data until they restart"
	case RereadsFiles:
		return "get new files without a restart"
	case NextRun:
		return "get the data in their next run"
	}
	return "may get the data; it is not known when"
}

// restarts determines from the changed objects of a target, and its manifests after the change, which workloads restart and who reads the
// ConfigMaps and Secrets that change.
func restarts(objects []ObjectChange, after []byte) (restart []string, configs []DataChange) {
	var changes []configData
	replaced := map[string]ReaderEffect{} // by the text of the new document: what its change does to its pods
	for _, o := range objects {
		switch {
		case o.after == "":
		case o.Kind == "ConfigMap" || o.Kind == "Secret":
			if c, ok := dataOf(o); ok {
				c.Readers = []DataReader{}
				changes = append(changes, c)
			}
		case o.Op == plan.Changed && podTemplates[o.Kind] != nil:
			if effect := replaces(o); effect != "" {
				replaced[o.after] = effect
				if effect == Restarts {
					restart = append(restart, o.String())
				}
			}
		}
	}
	addReaders(changes, after, replaced)
	for _, c := range changes {
		slices.SortFunc(c.Readers, func(a, b DataReader) int {
			return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Effect, b.Effect))
		})
		if c.Readers = slices.Compact(c.Readers); !c.added || len(c.Readers) > 0 {
			configs = append(configs, c.DataChange)
		}
	}
	return restart, configs
}

// addReaders adds the workloads that read changed objects. Each manifest is parsed once, because there can be many of both.
func addReaders(changes []configData, after []byte, replaced map[string]ReaderEffect) {
	if len(changes) == 0 {
		return
	}
	for _, text := range documents(after) {
		if !slices.ContainsFunc(changes, func(c configData) bool { return strings.Contains(text, c.Name) }) {
			continue
		}
		w, ok := parseWorkload(text)
		if !ok {
			continue
		}
		pods := w.pods()
		for i := range changes {
			if c := &changes[i]; strings.Contains(text, c.Name) {
				c.Readers = append(c.Readers, c.readersOf(w, pods, replaced[w.text])...)
			}
		}
	}
}

// configData is a ConfigMap or Secret with the keys that change.
type configData struct {
	DataChange
	keys map[string]bool
	// added means that the object is new, such as one with a hash of its data in its name.
	added bool
}

// dataOf compares the data of a ConfigMap or Secret. ok is false if they are the same.
func dataOf(o ObjectChange) (c configData, ok bool) {
	type object struct {
		APIVersion string         `yaml:"apiVersion"`
		Immutable  bool           `yaml:"immutable"`
		Data       map[string]any `yaml:"data"`
		BinaryData map[string]any `yaml:"binaryData"`
		StringData map[string]any `yaml:"stringData"`
	}
	var was, is object
	if yaml.Unmarshal([]byte(o.after), &is) != nil || is.APIVersion != "v1" || o.Name == "" || yaml.Unmarshal([]byte(o.before), &was) != nil {
		return c, false
	}
	c = configData{DataChange{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Immutable: was.Immutable}, map[string]bool{}, o.Op == plan.Added}
	for _, pair := range [][2]map[string]any{{was.Data, is.Data}, {was.BinaryData, is.BinaryData}, {was.StringData, is.StringData}} {
		for i, side := range pair {
			for key, value := range side {
				if other, both := pair[1-i][key]; !both || !reflect.DeepEqual(value, other) {
					c.keys[key] = true
				}
			}
		}
	}
	return c, len(c.keys) > 0
}

// workloadObject is an object with pods.
type workloadObject struct {
	manifest
	// spec is that of the object, template that of its pods.
	spec, template *yaml.Node
}

// podTemplates are the paths of the pods' templates in kinds of objects, which differ in how they replace pods. The template of a Pod is its spec.
var podTemplates = map[string][]string{
	"Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "DaemonSet": {"spec", "template"}, "ReplicaSet": {"spec", "template"},
	"ReplicationController": {"spec", "template"}, "Job": {"spec", "template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"}, "Pod": {"spec"},
}

// parseWorkload reads an object with pods. ok is false for other documents, and for those that cannot be read.
func parseWorkload(text string) (w workloadObject, ok bool) {
	w.manifest = parseManifest(text)
	at, known := podTemplates[w.kind]
	if !known || w.group != "" && w.group != "apps" && w.group != "batch" {
		return w, false
	}
	var root yaml.Node
	if yaml.Unmarshal([]byte(w.text), &root) != nil || len(root.Content) == 0 {
		return w, false
	}
	w.spec = field(root.Content[0], "spec")
	w.template = root.Content[0]
	for _, key := range at {
		w.template = field(w.template, key)
	}
	return w, w.spec != nil && w.template != nil
}

// field returns the value of a key of a map; nil without one.
func field(node *yaml.Node, key string) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for i := 0; node != nil && node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// pods returns what the pods of a workload consist of; empty if it cannot be read.
func (w workloadObject) pods() podSpec {
	var pods podSpec
	spec := w.spec
	if w.kind != "Pod" {
		spec = field(w.template, "spec")
	}
	if spec == nil || spec.Decode(&pods) != nil {
		return podSpec{}
	}
	return pods
}

// replaces returns what a change of a workload does to its pods: it [Restarts] them, they stay until the [NextRestart], or it is not known. It is
// empty if the template of the pods does not change.
func replaces(o ObjectChange) ReaderEffect {
	was, ok := parseWorkload(o.before)
	is, known := parseWorkload(o.after)
	if !ok || !known {
		return UnknownEffect
	}
	c := comparison{budget: maxCompared}
	if c.same(was.template, is.template) {
		return ""
	}
	var spec struct {
		Paused         bool `yaml:"paused"`
		UpdateStrategy struct {
			Type          string `yaml:"type"`
			RollingUpdate struct {
				Partition any `yaml:"partition"`
			} `yaml:"rollingUpdate"`
		} `yaml:"updateStrategy"`
	}
	if c.budget < 0 || is.spec.Decode(&spec) != nil {
		return UnknownEffect
	}
	switch partition := spec.UpdateStrategy.RollingUpdate.Partition; {
	case o.Kind == "CronJob":
		return NextRun
	case o.Kind == "Deployment" && spec.Paused, o.Kind == "ReplicaSet", o.Kind == "ReplicationController", spec.UpdateStrategy.Type == "OnDelete":
		return NextRestart
	case o.Kind == "Deployment", o.Kind == "DaemonSet", o.Kind == "StatefulSet" && (partition == nil || partition == 0):
		return Restarts
	}
	return UnknownEffect // a Job and a Pod cannot be changed, and a partition of a StatefulSet keeps some pods
}

// comparison compares YAML by its meaning: the order of keys, quotes and comments do not matter. The budget bounds the work, as aliases can make
// a document much larger than its text; it is below 0 if it was not enough.
type comparison struct{ budget int }

// maxCompared is the budget for the template of pods, in nodes.
const maxCompared = 100_000

func (c *comparison) same(a, b *yaml.Node) bool {
	for a.Kind == yaml.AliasNode {
		a = a.Alias
	}
	for b.Kind == yaml.AliasNode {
		b = b.Alias
	}
	if c.budget--; c.budget < 0 || a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return a.Value == b.Value && (a.Style == b.Style && a.Tag == b.Tag || a.ShortTag() == b.ShortTag())
	case yaml.MappingNode:
		for i := 0; i+1 < len(a.Content); i += 2 {
			other := b.Content[i+1]
			if a.Content[i].Value != b.Content[i].Value {
				c.budget -= len(b.Content) / 2 // the keys that are looked at
				other = field(b, a.Content[i].Value)
			}
			if other == nil || !c.same(a.Content[i+1], other) {
				return false
			}
		}
		return true
	}
	for i := range a.Content {
		if !c.same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// readersOf returns how a workload with pods gets the changed data, if it does. replaced is what the same change does to its pods.
func (c configData) readersOf(w workloadObject, pods podSpec, replaced ReaderEffect) []DataReader {
	if w.namespace != c.Namespace && w.namespace != "" && c.Namespace != "" {
		return nil
	}
	effects := pods.reads(c)
	if len(effects) == 0 || c.added && replaced != Restarts {
		return nil
	}
	switch {
	case w.namespace != c.Namespace: // the reconciler decides about the namespace of one of them
		effects = []ReaderEffect{UnknownEffect}
	case replaced == Restarts, replaced == UnknownEffect:
		effects = []ReaderEffect{replaced}
	case w.kind == "CronJob":
		effects = []ReaderEffect{NextRun}
	}
	var readers []DataReader
	for _, e := range effects {
		readers = append(readers, DataReader{ObjectChange{Kind: w.kind, Namespace: w.namespace, Name: w.name}.String(), e})
	}
	return readers
}

// with lists the workloads with an effect.
func (c DataChange) with(effect ReaderEffect) []string {
	var names []string
	for _, r := range c.Readers {
		if r.Effect == effect {
			names = append(names, r.Workload)
		}
	}
	return names
}

// Sentences describe who gets the data and when, one for each effect.
func (c DataChange) Sentences() []string {
	var all []string
	if c.Immutable {
		all = append(all, "immutable: API servers refuse other data")
	}
	if len(c.Readers) == 0 {
		all = append(all, "no workload of the target is known to read it")
	}
	for _, e := range ReaderEffects {
		if names := c.with(e); len(names) > 0 {
			all = append(all, e.String()+": "+strings.Join(names, ", "))
		}
	}
	return all
}

// RestartLines describe which workloads restart, and who gets changed ConfigMaps and Secrets when.
func RestartLines(restarts []string, configs []DataChange) []string {
	var lines []string
	if len(restarts) > 0 {
		lines = append(lines, "restart: "+strings.Join(restarts, ", "))
	}
	for _, c := range configs {
		for _, text := range c.Sentences() {
			lines = append(lines, c.String()+"  "+text)
		}
	}
	return lines
}
