package fleet

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// kind is how documents of a kind are read.
type kind struct {
	// name is the rule for the objects' names.
	name nameRule
	// decode returns the object as a pointer; whether it can be used is in the decoder.
	decode func(d *decoder, root *yaml.Node) any
}

// The kinds by their names in Kubernetes. ConfigMap and CustomResourceDefinition are not of the group of v1alpha1.
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
	kindConfigMap    = "ConfigMap"
	kindSchema       = "ConfigSchema"
	kindTemplate     = "Template"
	kindCheckPolicy  = "CheckPolicy"
	kindDefinition   = "CustomResourceDefinition"
)

// kinds are the documents that are read. What else there is, is reported or skipped; see header.reading.
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
	kindConfigMap:    {dnsSubdomain, decodeConfigMap},
	kindSchema:       {dnsSubdomain, decodeSchema},
	kindTemplate:     {dnsSubdomain, decodeTemplate},
	kindCheckPolicy:  {dnsSubdomain, typed(checkCheckPolicy)},
	kindDefinition:   {dnsSubdomain, decodeDefinition},
}

// results are kinds that the scheduler writes; nobody else does.
var results = []string{"Assignment", "AssignmentPackage"}

// kindNames returns the kinds of the scheduler's group that people write.
func kindNames() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(kinds)), func(name string) bool { return name == kindConfigMap || name == kindDefinition })
}

// typed decodes into the API type and checks what the types cannot say.
// The checks run even when a field was wrong, so that one problem does not hide another.
func typed[T any](check func(d *decoder, root *yaml.Node, object *T)) func(d *decoder, root *yaml.Node) any {
	return func(d *decoder, root *yaml.Node) any {
		object := new(T)
		d.into(root, object)
		check(d, root, object)
		return object
	}
}

// require reports a field that is not there or empty.
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

// oneOf reports a value that is none of the allowed ones. Empty is allowed: it means the default.
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
