// Package config composes the platform configuration of an assignment from layers, and records where each value comes from.
//
// A layer is a ConfigMap. It applies when all its labels match: "cluster", "cluster-type", "deployment-target" and "workload" match
// names, any other label matches the same label of the cluster type or of the target. Where a cluster has values of its own, its
// labels count instead of those of its type, which they include. Layers are applied in order of increasing
// specificity, which is the number of labels, and then by name; layers of one cluster come last. A later layer wins:
//
//	dev-config       (no labels)                    REGION: none     DATABASE_URL: mysql://dev
//	west-us-config   region: west-us                REGION: West US  DATABASE_URL: mysql://west    ◄ wins
//	large-config     region: west-us, size: large   CLUSTER_NAME: Large
//
// # Values
//
// A scalar is a string: 3306 and "3306" are the same. A string that is a YAML map becomes a map
// ("note: see below" is a map too). Any other string is kept unchanged, including lists.
// A value in single quotes, or a string that itself begins and ends with one, is literal: neither a map nor a template.
//
// A string with "{{" is a template over the assignment's data. It is evaluated once, before merging,
// and its result is a plain string: it is not parsed, even if it looks like a map.
// In a string that is a map, each string leaf is a template of its own.
//
// # Expressions
//
// A ConfigMap with the annotation "kalypso.io/values: expressions" is a layer whose values are computed, in CEL, from other values, the layers
// below, and facts of the target and where it runs: see package formula. They are computed for each assignment.
//
// # Merging
//
// Maps merge key by key. Lists of maps merge by the elements' "name", and elements without a counterpart are appended.
// Everything else is replaced, also by an empty list. Each resulting leaf keeps its provenance:
// the layer that won, the line of the value, and the values it overrode.
//
// # Schemas
//
// A schema checks the composed configuration. Strings are converted to the type that the schema asks for:
// "3306" is valid for an integer and for a string. The composed data keeps the string.
// Values inside maps have their YAML types, and only strings are converted.
// A schema cannot refer to anything outside itself, and the work of checking is bounded.
//
// # Problems
//
// All problems are reported at once, each at the line of the value. The assignment is held by
// a value that the schema does not allow, or that cannot be read or evaluated; by a schema that cannot be used or
// does not exist; and by a layer or schema that would apply, but cannot be read. A missing value holds it only
// if its schema says so. Two equally specific layers with different values are a warning.
//
// # Sharing
//
// Many assignments share one configuration. It is composed once for each cluster type, set of layers and
// set of template results. The result is immutable.
package config
