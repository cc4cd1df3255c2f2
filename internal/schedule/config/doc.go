// Package config composes the platform configuration of an assignment from layers, and says where every value comes from.
//
// A layer is a ConfigMap whose every label matches: "cluster-type", "deployment-target" and "workload" match names,
// any other label matches the same label of the cluster type or of the target. Layers are applied from the least to the
// most specific, which is the number of labels; equals go in order of their names. A later layer wins:
//
//	dev-config       (no labels)                    REGION: none     DATABASE_URL: mysql://dev
//	west-us-config   region: west-us                REGION: West US  DATABASE_URL: mysql://west    ◄ wins
//	large-config     region: west-us, size: large   CLUSTER_NAME: Large
//
// # Values
//
// A scalar is text, however it is written: 3306 and "3306" are the same. A text that is a YAML map becomes a map,
// whatever it looks like otherwise ("note: see below" is a map too). Any other text stays exactly as it is, lists included.
// A value in single quotes, or a text that itself begins and ends with one, is literal: neither a map nor a template.
//
// A text with "{{" is a template over the assignment's own data. It is evaluated once, before merging,
// and what comes out is plain text for ever after: it is not parsed, not even when it looks like a map.
// In a text that is a map, the string leaves are templates, each on its own.
//
// # Merging
//
// Maps merge key by key; lists of maps merge by the elements' "name", elements without a counterpart are appended;
// everything else is replaced, an empty list included. Each resulting leaf keeps its provenance:
// the layer that won, the line it was written at, and what it overrode.
//
// # Schemas
//
// A schema checks the composed configuration. Texts are checked as what the schema asks for:
// "3306" is an integer where it wants an integer, and a text where it wants a text. The composed data stays text.
// Values inside maps have the types that YAML gives them, and those that are no texts are checked as what they are.
// Schemas never reach outside of themselves, and the work of checking is bounded.
//
// # Problems
//
// All findings are reported at once, each at the line the value is written at. These hold the assignment:
// a value that the schema does not allow, or that cannot be read or evaluated; a schema that cannot be used or
// does not exist; and a layer or schema that would apply if it could be read. A missing value holds it only
// where its schema says so. Two equally specific layers that disagree are a warning.
//
// # Sharing
//
// Many assignments share one configuration. It is composed once for each cluster type, set of layers and
// values that depend on the target, and the result is shared and immutable.
package config
