package fleet

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Objects are the typed objects of one source, sorted by name within each kind.
// Duplicates are reported and listed as unreadable, because it is unknown which one is meant.
type Objects struct {
	Source Source

	Environments  []Object[v1alpha1.Environment]
	BaseRepos     []Object[v1alpha1.BaseRepo]
	GitOpsRepos   []Object[v1alpha1.GitOpsRepo]
	ConfigRepos   []Object[v1alpha1.ConfigRepo]
	Registrations []Object[v1alpha1.WorkloadRegistration]
	Workloads     []Object[v1alpha1.Workload]
	Targets       []Object[v1alpha1.DeploymentTarget]
	Policies      []Object[v1alpha1.SchedulingPolicy]
	ClusterTypes  []Object[v1alpha1.ClusterType]
	Clusters      []*Cluster
	Configs       []*ConfigMap
	Schemas       []*Schema
	Templates     []*Template
	Grants        []Object[v1alpha1.Grant]
	CheckPolicies []Object[v1alpha1.CheckPolicy]
	Definitions   []*Definition
	// AdmissionPolicies are ValidatingAdmissionPolicies.
	AdmissionPolicies []*AdmissionPolicy

	Problems   []Problem
	Unreadable []Unreadable
	// Unmarked are the ConfigMaps that are not platform configuration.
	Unmarked []Unreadable

	// foreign are the problems of documents of other groups. They do not matter in application repositories.
	foreign map[Problem]bool
}

// Object is a document of a known kind, decoded, with its origin.
// Values may be shared with other Objects through the [Cache]; do not change them.
type Object[T any] struct {
	Value T
	Ref   Ref
	Origin
	// Lines are the lines of a Workload's deployment targets.
	Lines []int
}

// LostBaseRepo returns the unreadable object that is, or may be, the BaseRepo of an environment branch, if no other exists.
// The promoted commit is unknown then, and the head of main must not be used instead.
func (o *Objects) LostBaseRepo(branch string) (Unreadable, bool) {
	if _, _, ok := o.BaseRepo(branch); ok {
		return Unreadable{}, false
	}
	for _, u := range o.Unreadable {
		if u.Ref == (Ref{}) || u.Ref.Kind == kindBaseRepo {
			return u, true
		}
	}
	return Unreadable{}, false
}

// BaseRepo returns the BaseRepo with the name of the base branch, or else the one named "main".
func (o *Objects) BaseRepo(branch string) (*v1alpha1.BaseRepo, Origin, bool) {
	for _, name := range []string{branch, "main"} {
		for i := range o.BaseRepos {
			if o.BaseRepos[i].Value.Name == name {
				return &o.BaseRepos[i].Value, o.BaseRepos[i].Origin, true
			}
		}
	}
	return nil, Origin{}, false
}

// written is implemented by all objects.
type written interface {
	ref() Ref
	labelled() map[string]string
	position() Position
}

func (o Origin) position() Position { return o.Position }

func (o Object[T]) ref() Ref { return o.Ref }

func (o Object[T]) labelled() map[string]string {
	return any(&o.Value).(metav1.Object).GetLabels()
}

func (c *ConfigMap) ref() Ref                     { return Ref{Kind: kindConfigMap, Name: c.Name} }
func (c *ConfigMap) labelled() map[string]string  { return c.Labels }
func (c *Cluster) ref() Ref                       { return Ref{Kind: kindCluster, Name: c.Name} }
func (c *Cluster) labelled() map[string]string    { return nil }
func (s *Schema) ref() Ref                        { return Ref{Kind: kindSchema, Name: s.Name} }
func (s *Schema) labelled() map[string]string     { return s.Labels }
func (c *Definition) ref() Ref                    { return Ref{Kind: kindDefinition, Name: c.Name} }
func (c *Definition) labelled() map[string]string { return nil }
func (t *Template) ref() Ref                      { return Ref{Kind: kindTemplate, Name: t.Name} }
func (t *Template) labelled() map[string]string   { return nil }
func (t *Target) ref() Ref                        { return Ref{Kind: kindTarget, Name: t.Name} }
func (t *Target) labelled() map[string]string     { return t.Labels }

// in adds source and file to a position that has only a line.
func (p Position) in(source Source, file string) Position {
	if source.Objects {
		p.Line = 0
	}
	return Position{Source: source.Name, File: file, Line: p.Line}
}

func (d *document) origin(source Source, file string) Origin {
	return Origin{
		Position: Position{Line: d.line}.in(source, file),
		Digest:   d.digest.with([]string{source.Name, file}),
	}
}

// add appends the document to the list of its kind.
func (o *Objects) add(d *document, file string) {
	origin := d.origin(o.Source, file)
	switch v := d.value.(type) {
	case *v1alpha1.Environment:
		appendObject(&o.Environments, v, d, origin)
	case *v1alpha1.BaseRepo:
		appendObject(&o.BaseRepos, v, d, origin)
	case *v1alpha1.GitOpsRepo:
		appendObject(&o.GitOpsRepos, v, d, origin)
	case *v1alpha1.ConfigRepo:
		appendObject(&o.ConfigRepos, v, d, origin)
	case *v1alpha1.WorkloadRegistration:
		appendObject(&o.Registrations, v, d, origin)
	case *v1alpha1.Workload:
		appendObject(&o.Workloads, v, d, origin)
	case *v1alpha1.DeploymentTarget:
		appendObject(&o.Targets, v, d, origin)
	case *v1alpha1.SchedulingPolicy:
		appendObject(&o.Policies, v, d, origin)
	case *v1alpha1.ClusterType:
		appendObject(&o.ClusterTypes, v, d, origin)
	case *Cluster:
		c := *v
		c.Origin = origin
		o.Clusters = append(o.Clusters, &c)
	case *ConfigMap:
		c := *v
		c.Origin = origin
		o.Configs = append(o.Configs, &c)
	case *Schema:
		s := *v
		s.Origin = origin
		o.Schemas = append(o.Schemas, &s)
	case *Template:
		o.Templates = append(o.Templates, v.at(origin))
	case *Definition:
		c := *v
		c.Origin = origin
		o.Definitions = append(o.Definitions, &c)
	case *AdmissionPolicy:
		c := *v
		c.Origin = origin
		o.AdmissionPolicies = append(o.AdmissionPolicies, &c)
	case *v1alpha1.Grant:
		appendObject(&o.Grants, v, d, origin)
	case *v1alpha1.CheckPolicy:
		appendObject(&o.CheckPolicies, v, d, origin)
	}
}

// appendObject copies the value, because files with the same content share it.
func appendObject[T any](list *[]Object[T], value *T, d *document, origin Origin) {
	*list = append(*list, Object[T]{Value: *value, Ref: d.ref(), Origin: origin, Lines: d.lines})
}

// at returns the template with source and file added to its positions.
func (t *Template) at(origin Origin) *Template {
	placed := *t
	placed.Origin = origin
	placed.Manifests = slices.Clone(t.Manifests)
	for i := range placed.Manifests {
		place := &placed.Manifests[i].Position
		place.Source, place.File = origin.Position.Source, origin.Position.File
	}
	return &placed
}

// each calls f with every object, by kind and name.
func (o *Objects) each(f func(written)) {
	visit(o.Environments, f)
	visit(o.BaseRepos, f)
	visit(o.GitOpsRepos, f)
	visit(o.ConfigRepos, f)
	visit(o.Registrations, f)
	visit(o.Workloads, f)
	visit(o.Targets, f)
	visit(o.Policies, f)
	visit(o.ClusterTypes, f)
	visit(o.Clusters, f)
	visit(o.Configs, f)
	visit(o.Schemas, f)
	visit(o.Templates, f)
	visit(o.Grants, f)
	visit(o.CheckPolicies, f)
	visit(o.Definitions, f)
	visit(o.AdmissionPolicies, f)
}

func visit[W written](list []W, f func(written)) {
	for _, w := range list {
		f(w)
	}
}

// byName orders objects of one kind by name and position.
func byName[W written](a, b W) int {
	if order := cmp.Compare(a.ref().Name, b.ref().Name); order != 0 {
		return order
	}
	return comparePositions(a.position(), b.position())
}

func comparePositions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}
