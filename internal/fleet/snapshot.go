package fleet

import (
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Snapshot is everything known about one environment at fixed commits.
// It is immutable. Lists are sorted by name and hold no two objects of one name.
type Snapshot struct {
	Environment string

	// GitOps is where generated files go; nil when the environment has no readable GitOpsRepo.
	GitOps *GitOpsRepo
	// PromotedCommit is the commit of main that the BaseRepo names;
	// empty when it names none and the head of main is used.
	PromotedCommit string

	ClusterTypes []*ClusterType
	Targets      []*Target
	Policies     []*Policy
	Configs      []*ConfigMap
	Schemas      []*Schema
	Templates    []*Template
	// CheckPolicies are those of main and then those of the environment's branch, each by name: later ones count more.
	CheckPolicies []Object[v1alpha1.CheckPolicy]
	// Definitions are those of custom resources, sorted; those of main count before others of the same name.
	Definitions []*Definition

	// Problems are all problems of reading and assembling, sorted.
	Problems []Problem
	// Unreadable lists what exists and could not be used. Whatever was published from it stays as it is.
	Unreadable []Unreadable
}

// Unreadable is an object, or a whole file, that exists and could not be used.
type Unreadable struct {
	// Ref names the object; zero for a file whose objects nobody knows.
	// For a workload repository that cannot be reached it names the WorkloadRegistration.
	Ref Ref
	// Nameless says that the name in Ref is none that an object can have, so that it may be any of its kind.
	Nameless bool
	// Labels are the labels of the object, where they could be read; of a ConfigMap or ConfigSchema, those that have to match.
	Labels   map[string]string
	Position Position
}

// Origin is what every object of a snapshot carries.
type Origin struct {
	Position Position
	// Digest identifies everything the object says and where it says it.
	// Two objects with equal digests are interchangeable in every computation.
	Digest Digest
}

// ClusterType is a cluster type after "extends" was resolved.
type ClusterType struct {
	Name   string
	Labels map[string]string
	// Reconciler, NamespaceService and ConfigType name templates.
	// ConfigType is never empty: "configmap" unless the document says otherwise; [NoConfig] means no configuration file.
	// Reconciler and NamespaceService may be empty, which the renderer reports.
	Reconciler, NamespaceService, ConfigType string
	Origin
}

// NoConfig as config type means that no configuration file is written.
const NoConfig = "none"

// Target is a deployment target that exists in the environment.
type Target struct {
	// Name is "<workload>-<short name>", unique in the environment.
	Name string
	// ShortName is the name within the workload, as the application team wrote it.
	ShortName string
	Workload  string
	Workspace string
	// Registration is the name of the WorkloadRegistration it came through; empty for one that was written directly.
	Registration string
	// Labels are the workload's, overlaid by the target's own, plus "workload" and "workspace".
	Labels map[string]string
	// Manifests is what the application team wrote, never executed, with the full URL in place of a relative "repo".
	// Where a fleet is in folders of one machine that stays as it was written. Never nil.
	Manifests map[string]string
	// ConfigSchemas are those of the target and of its workload, sorted.
	ConfigSchemas []string
	Origin
}

// String returns "<workload>/<short name>", the way people name a target.
func (t *Target) String() string { return t.Workload + "/" + t.ShortName }

// Policy is a scheduling policy with compiled selectors.
type Policy struct {
	Name string
	// Workspace restricts the targets; empty means every workspace.
	Workspace string
	// Targets and ClusterTypes have the semantics of Kubernetes label selectors.
	// An absent selector and an empty one both match everything.
	Targets, ClusterTypes labels.Selector
	// TargetSelector and ClusterTypeSelector are the selectors as written, for explanations; never nil.
	TargetSelector, ClusterTypeSelector *metav1.LabelSelector
	Origin
}

// ConfigMap is platform configuration: a ConfigMap with the label platform-config: "true".
type ConfigMap struct {
	Name string
	// Labels are those that have to match, without platform-config and without the labels of reconcilers.
	Labels map[string]string
	// Entries are the keys of data, in the order of the keys.
	Entries []ConfigEntry
	Origin
}

// ConfigEntry is one key of a ConfigMap.
type ConfigEntry struct {
	Key string
	// Value is the node of the value as written; aliases are resolved and bounded.
	// Its style says whether it was single-quoted, its Line where it stands.
	Value *yaml.Node
}

// Schema is a ConfigSchema. The document is not compiled yet.
type Schema struct {
	Name string
	// Labels are those that have to match, like a ConfigMap's.
	Labels map[string]string
	// Selects is false when the schema has no labels at all and applies only where it is named.
	Selects bool
	// Document is the JSON Schema as decoded JSON.
	Document any
	// OnMissing is never empty.
	OnMissing v1alpha1.MissingAction
	Origin
}

// Template is a template as written; it is not parsed yet.
type Template struct {
	Name        string
	Type        v1alpha1.TemplateType
	ContentType v1alpha1.ContentType // never empty
	Manifests   []TemplateManifest
	// Chart is the folder of a Helm chart instead of manifests.
	Chart string
	// ChartFiles are the files of that chart.
	ChartFiles []ChartFile
	// Builtin marks a template that ships with the program.
	Builtin bool
	Origin
}

// TemplateManifest is a text, or an object in which every string is a template.
type TemplateManifest struct {
	// Text is the template; empty when the manifest was written as an object.
	Text string
	// Object is the manifest as decoded YAML (map[string]any, []any, scalars); nil when it was written as text.
	Object   map[string]any
	Position Position
}

// GitOpsRepo is where the files of the environment go.
type GitOpsRepo struct {
	Repo, Branch string
	// Path is clean and relative; empty means the root.
	Path      string
	AutoMerge bool
	Budget    DeletionBudget
	Origin
}
