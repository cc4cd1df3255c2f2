// Package values composes the configuration of an application's target from layers of values.yaml files,
// and records where each value comes from.
//
//	values.yaml                        replicas: 1   logging: {level: info}
//	eu/values.yaml                     replicas: 2
//	eu/functional-test/values.yaml     logging: {level: debug}        the target functional-test
//	--set image.tag=1.4.0              image: {tag: 1.4.0}
//
// The layers of a target are the files from the root of the configuration down to its folder; a later one wins.
// Every folder with such a file and none below it is a target's, at any depth: see [Folders].
//
// # Values
//
// A file is read as Helm reads it, so that values have the same types as in the chart: numbers are floating point,
// "yes" is a boolean. Ambiguous input, which Helm accepts silently, is an error:
// duplicate keys, keys that are not strings, several documents, a file that is not a map.
// Size, nesting and aliases are bounded.
//
// # Merging
//
// Maps merge key by key; everything else is replaced, lists and null included. A null stays in the result:
// the chart's own value of that key is removed by it, as by Helm.
//
// # Expressions
//
// A file values.cel.yaml beside a values.yaml computes values from others and from [Facts], by expressions in CEL: see package formula. It is a layer
// of its own, below the values.yaml of its folder. A template of a level, which the source has, is below both.
//
// # References
//
// $NAME and ${NAME} in a string are replaced by explicitly given variables; all other dollar signs are kept.
// The result is not expanded again, and remains a string: "$REPLICAS" does not become a number.
//
// # Provenance
//
// A [Key] records the file and line of each value, and the values it overrode. A list is one value.
package values
