package fleet

import (
	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Snapshot is everything known about one environment at fixed commits.
// It is immutable. Lists are sorted by name, and names are unique within a list.
type Snapshot struct {
	Environment string

	// GitOps is the destination of generated files. Nil if the environment has no readable GitOpsRepo.
	GitOps *GitOpsRepo
	// PromotedCommit is the commit of main in the BaseRepo.
	// Empty if it names none; the head of main is used then.
	PromotedCommit string

	ClusterTypes []*ClusterType
	// Clusters are those with a Cluster object. Others may be registered.
	Clusters []*Cluster
	// Rings divide the clusters, in the order of rollouts. Empty if all clusters follow the environment's branch.
	Rings []Ring
	// LostRings means that the environment may have rings, in documents that cannot be read.
	LostRings bool
	Targets   []*Target
	Policies  []*Policy
	Configs   []*ConfigMap
	Schemas   []*Schema
	Templates []*Template
	// Grants give assignments more rights. Those of main replace others with the same name.
	Grants []*Grant
	// CheckPolicies are those of main and then those of the environment branch, in increasing precedence.
	CheckPolicies []Object[v1alpha1.CheckPolicy]
	// Definitions of custom resources, sorted. Those of main replace others with the same name.
	Definitions []*Definition
	// AdmissionPolicies are ValidatingAdmissionPolicies, sorted. Those of main replace others with the same name.
	AdmissionPolicies []*AdmissionPolicy

	// Problems of reading and assembling, sorted.
	Problems []Problem
	// Unreadable lists what exists, but cannot be used. Whatever was published from it is kept.
	Unreadable []Unreadable
	// Unmarked are ConfigMaps that are not platform configuration, as their labels say. Whatever was published from one is kept: a label
	// that is lost takes nothing away.
	Unmarked []Unreadable

	// LostExclusion is a policy, or a file with policies, that cannot be read, and may keep assignments away from cluster
	// types. Nothing new may be assigned then. Nil if there is none.
	LostExclusion *Unreadable

	// Elsewhere are the environments of the targets of other environments, by "<workload>/<short name>".
	Elsewhere map[string]string

	// Contests are the names that several targets have, sorted. Their targets are not in Targets, but unreadable.
	// See [Snapshot.Settle].
	Contests []Contest

	// inputs are what it was assembled from, assembled the problems then, and unreadable how many objects were unreadable then. They are
	// for [Snapshot.WhatIf].
	inputs     Inputs
	assembled  []Problem
	unreadable int
}

// Unreadable is an object, or a whole file, that exists, but cannot be used.
type Unreadable struct {
	// Ref names the object. It is zero for a file whose objects are unknown,
	// and the WorkloadRegistration for a workload repository that cannot be reached.
	Ref Ref
	// Nameless means that the name in Ref is invalid, so that the object may be any of its kind.
	Nameless bool
	// NoTemplate means that a file, or a whole repository, certainly holds no Template.
	NoTemplate bool
	// NoExclusion means that a file certainly holds no policy that keeps assignments away from cluster types.
	NoExclusion bool
	// Labels of the object, as far as they could be read. For a ConfigMap or ConfigSchema, only those that have to match.
	Labels map[string]string
	// Owner is whose it is. Zero for what is not in an application repository, and for names that several owners use.
	Owner    Owner
	Position Position
}

// Origin is the position and identity of an object.
type Origin struct {
	Position Position
	// Digest identifies the object's content and position.
	// Objects with equal digests are interchangeable in every computation.
	Digest Digest
}

// ClusterType is a cluster type with "extends" resolved.
type ClusterType struct {
	Name   string
	Labels map[string]string
	// Reconciler, NamespaceService and ConfigType name templates.
	// ConfigType defaults to "configmap"; [NoConfig] means no configuration file.
	// Reconciler and NamespaceService may be empty, which package render reports.
	Reconciler, NamespaceService, ConfigType string
	// Pull is as in the spec; may be empty.
	Pull string
	// Taints keep assignments away. Features and Capacity are nil if there are none.
	Taints   []v1alpha1.Taint
	Features map[string]string
	Capacity map[string]resource.Quantity
	// Cluster is the cluster that this is for; empty for the cluster type itself. See [ClusterType.Of].
	Cluster string
	// OverLabels are the labels of the cluster over those of the type; nil for the cluster type itself.
	OverLabels map[string]string
	Origin
}

// NoConfig as config type means that no configuration file is written.
const NoConfig = "none"

// Target is a deployment target of the environment.
type Target struct {
	// Name is "<workload>-<short name>", unique in the environment.
	Name string
	// ShortName is the name within the workload.
	ShortName string
	Workload  string
	Workspace string
	// Registration is the name of its WorkloadRegistration. Empty for a DeploymentTarget in the control plane.
	Registration string
	// Labels are the workload's, overridden by the target's own, plus "workload" and "workspace".
	Labels map[string]string
	// Manifests is the application team's input, never executed. A relative "repo" is resolved to a full URL,
	// except in a fleet that is entirely in local folders. Never nil.
	Manifests map[string]string
	// ConfigSchemas are the names of the schemas of the target and of its workload, sorted: ConfigSchemas, and inline schemas.
	ConfigSchemas []string
	// Requests are the resources that the target needs on a cluster; nil if there are none.
	Requests         map[string]resource.Quantity
	RequiredFeatures []RequiredFeature
	// DependsOn are the workloads that the target needs on the same cluster type, sorted.
	DependsOn []Dependency
	Origin
}

// Dependency is another workload that a target needs on the same cluster type.
type Dependency struct {
	Workload string
	// Target is the short name of the workload's target; empty means any.
	Target string
}

// String returns "<workload>" or "<workload>/<target>".
func (d Dependency) String() string {
	if d.Target == "" {
		return d.Workload
	}
	return d.Workload + "/" + d.Target
}

// String returns "<workload>/<short name>".
func (t *Target) String() string { return t.Workload + "/" + t.ShortName }

// Policy is a scheduling policy with compiled selectors.
type Policy struct {
	Name string
	// Workspace restricts the targets; empty means every workspace.
	Workspace string
	// Targets and ClusterTypes have the semantics of Kubernetes label selectors.
	// An absent labelSelector and an empty one both match everything.
	Targets, ClusterTypes labels.Selector
	// TargetSelector and ClusterTypeSelector are the selectors before compilation. Never nil.
	TargetSelector, ClusterTypeSelector *metav1.LabelSelector

	// Mode is never empty.
	Mode     v1alpha1.PolicyMode
	Priority int
	// Preempts means that assignments of the policy may replace those with a lower priority.
	Preempts         bool
	Filters          []Filter
	Tolerations      []v1alpha1.Toleration
	RequiredFeatures []RequiredFeature
	// Max is the number of cluster types for each target; 0 means all.
	Max         int
	Preferences []Preference
	Spread      []Spread
	// MoveThreshold is how many points more another cluster type needs for an assignment to move there; 0 means that it never does.
	MoveThreshold int
	// Scheduler is the name of the scheduler; never empty in a snapshot that was read. See [Policy.External].
	Scheduler string
	// Extenders are the extenders of the default scheduler, in the order of the policy.
	Extenders []v1alpha1.Extender
	Origin
}

// DefaultScheduler is the name of the scheduler that is part of Kalypso.
const DefaultScheduler = "default"

// External reports whether another scheduler than the default one chooses among the policy's pairs.
func (p *Policy) External() bool { return p.Scheduler != "" && p.Scheduler != DefaultScheduler }

// Filter is a condition for a pair.
type Filter struct {
	Expression *Expression
	// Message describes the condition; may be empty.
	Message string
}

// RequiredFeature is a feature that a cluster type must have.
type RequiredFeature struct {
	Name string
	// Version is a constraint such as ">=1.29"; empty means any.
	Version    string
	constraint *semver.Constraints
}

// Preference gives up to Weight points to cluster types. Either Selector or Expression is set.
type Preference struct {
	Weight     int
	Selector   labels.Selector
	Expression *Expression
}

// Spread distributes cluster types over the values of a label.
type Spread struct {
	Key     string
	MaxSkew int // at least 1
	// Soft means that the skew is kept only where that is possible.
	Soft bool
}

// ConfigMap is platform configuration: a ConfigMap with the label platform-config: "true".
type ConfigMap struct {
	Name string
	// Labels that have to match: without platform-config, and without labels that reconcilers add.
	Labels map[string]string
	// Replace means that the values replace others instead of merging with them: annotation [MergeAnnotation].
	Replace bool
	// Expressions means that the values are expressions that compute values: annotation [ValuesAnnotation].
	Expressions bool
	// Store marks a ConfigMap of another store, whose keys begin with the labels that have to match; see [StorePrefix].
	Store bool
	// Entries of data, sorted by key.
	Entries []ConfigEntry
	Origin
}

// ConfigEntry is one key of a ConfigMap.
type ConfigEntry struct {
	Key string
	// Value is the YAML node of the value, with aliases resolved.
	Value *yaml.Node
}

// Schema is a ConfigSchema. The document is not compiled yet.
type Schema struct {
	Name string
	// Labels that have to match, like a ConfigMap's. Without labels, the schema applies everywhere.
	Labels map[string]string
	// Inline marks a schema that is a text in a Workload or DeploymentTarget. It applies only where it is named.
	Inline bool
	// Document is the JSON Schema as decoded JSON.
	Document any
	// OnMissing is never empty.
	OnMissing v1alpha1.MissingAction
	Origin
}

// Template is a template that is not parsed yet.
type Template struct {
	Name        string
	Type        v1alpha1.TemplateType
	ContentType v1alpha1.ContentType // never empty
	// FileName is the file that a template of type reconciler writes. Default: reconciler.yaml.
	FileName v1alpha1.FileName
	// Keys are the keys of a target's manifests that the template uses, by storage. Nil: any storage and keys.
	Keys      map[string]v1alpha1.ManifestKeys
	Manifests []TemplateManifest
	// Chart is the folder of a Helm chart instead of manifests.
	Chart string
	// ChartFiles are the files of that chart.
	ChartFiles []ChartFile
	// Builtin marks a template that is included in the program.
	Builtin bool
	Origin
}

// TemplateManifest is a text, or an object in which every string is a template.
type TemplateManifest struct {
	// Text is the template. Empty for an object.
	Text string
	// Object is the decoded YAML (map[string]any, []any, scalars). Nil for a text.
	Object   map[string]any
	Position Position
}

// GitOpsRepo is the destination of the environment's files.
type GitOpsRepo struct {
	Repo, Branch string
	// URL is Repo as clusters use it: a relative one is relative to the repository of the environment branch.
	URL string
	// Path is clean and relative. Empty means the root.
	Path      string
	AutoMerge bool
	Budget    DeletionBudget
	// RemoveHandedOver means that every cluster has applied what took over from earlier objects of reconcilers, so that these are removed.
	RemoveHandedOver bool
	// Publish is the repository of a registry for merged commits, "oci://host/path"; empty publishes nothing.
	Publish string
	// Unmanaged are the paths in the generated folders that Kalypso leaves to others.
	Unmanaged Unmanaged
	Origin
}

// Definition is a CustomResourceDefinition of the control plane, with which manifests of its kinds are checked.
type Definition struct {
	Name string
	// Document is the unchecked definition as YAML.
	Document []byte
	Origin
}
