package fleet

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// kind defines how to read documents of a kind.
type kind struct {
	name nameRule // for the objects' names
	// decode returns a pointer to the object. The decoder records whether it can be used.
	decode func(d *decoder, root *yaml.Node) any
}

// Names of the kinds. ConfigMap, CustomResourceDefinition and ValidatingAdmissionPolicy are not in the group of v1alpha1.
const (
	kindEnvironment  = "Environment"
	kindBaseRepo     = "BaseRepo"
	kindGitOpsRepo   = "GitOpsRepo"
	kindConfigRepo   = "ConfigRepo"
	kindRegistration = "WorkloadRegistration"
	kindWorkload     = "Workload"
	kindTarget       = "DeploymentTarget"
	kindPolicy       = "SchedulingPolicy"
	kindClusterType  = "ClusterType"
	kindCluster      = "Cluster"
	kindConfigMap    = "ConfigMap"
	kindSchema       = "ConfigSchema"
	kindTemplate     = "Template"
	kindGrant        = "Grant"
	kindCheckPolicy  = "CheckPolicy"
	kindDefinition   = "CustomResourceDefinition"
	kindAdmission    = "ValidatingAdmissionPolicy"

	kindList = "List"
)

// kinds are the documents that are read. Others are reported or skipped; see header.reading.
var kinds = map[string]kind{
	kindEnvironment:  {dnsLabel, typed(checkEnvironment)},
	kindBaseRepo:     {dnsSubdomain, typed(checkBaseRepo)},
	kindGitOpsRepo:   {dnsSubdomain, typed(checkGitOpsRepo)},
	kindConfigRepo:   {dnsSubdomain, typed(checkConfigRepo)},
	kindRegistration: {dnsLabel, typed(checkRegistration)},
	kindWorkload:     {dnsLabel, typed(checkWorkload)},
	kindTarget:       {dnsLabel, typed(checkTarget)},
	kindPolicy:       {dnsSubdomain, typed(checkPolicy)},
	kindClusterType:  {dnsLabel, typed(checkClusterType)},
	kindCluster:      {dnsLabel, decodeCluster},
	kindConfigMap:    {dnsSubdomain, decodeConfigMap},
	kindSchema:       {dnsSubdomain, decodeSchema},
	kindTemplate:     {dnsSubdomain, decodeTemplate},
	kindGrant:        {dnsSubdomain, typed(checkGrant)},
	kindCheckPolicy:  {dnsSubdomain, typed(checkCheckPolicy)},
	kindDefinition:   {dnsSubdomain, decodeDefinition},
	kindAdmission:    {dnsSubdomain, decodeAdmissionPolicy},
}

// definitionGroup is the API group of custom resource definitions.
const definitionGroup = "apiextensions.k8s.io"

// foreignVersions are the API versions of the kinds in other groups.
var foreignVersions = map[string]string{
	kindConfigMap: "v1", kindDefinition: definitionGroup + "/v1", kindAdmission: "admissionregistration.k8s.io/v1",
}

// results are kinds that only the scheduler writes.
var results = []string{"Assignment", "AssignmentPackage"}

// kindNames returns the kinds of the scheduler's group that users write.
func kindNames() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(kinds)), func(name string) bool { return foreignVersions[name] != "" })
}

// typed decodes into the API type and runs additional checks.
// The checks run even if a field is wrong, so that one problem does not hide another.
func typed[T any](check func(d *decoder, root *yaml.Node, object *T)) func(d *decoder, root *yaml.Node) any {
	return func(d *decoder, root *yaml.Node) any {
		object := new(T)
		d.into(root, object)
		check(d, root, object)
		return object
	}
}

// require reports a field that is missing or empty.
func (d *decoder) require(parent *yaml.Node, keys ...string) {
	n := lookup(parent, keys...)
	if n != nil && (n.Kind == yaml.MappingNode || n.Value != "" || len(n.Content) > 0) {
		return
	}
	at := parent
	for i := range keys {
		if n := lookup(parent, keys[:i]...); n != nil {
			at = n
		}
	}
	d.fail(KindMissingField, at, "", "%s is missing", d.field(keys...))
}

// oneOf reports a value that is not allowed. Empty is allowed: it means the default.
func oneOf[T ~string](d *decoder, root *yaml.Node, value T, allowed []T, keys ...string) {
	n := lookup(root, keys...)
	if n == nil || value == "" || slices.Contains(allowed, value) {
		return
	}
	d.fail(KindInvalidValue, n, didYouMean(string(value), texts(allowed)), "%s is %s, want one of %q", d.field(keys...), quoteShort(string(value)), allowed)
}

func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// decodeDefinition keeps a definition as YAML. Package check parses it.
func decodeDefinition(d *decoder, root *yaml.Node) any {
	document, err := yaml.Marshal(root)
	if err != nil {
		d.fail(KindInvalidValue, root, "", "the definition cannot be read: %v", err)
	}
	return &Definition{Name: d.object.Name, Document: document}
}
