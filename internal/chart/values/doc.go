// Package values composes the configuration of an application's target from layers of values.yaml files,
// and says where every value comes from.
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
// A file is read as Helm reads it, so that a value means what it means to the chart: numbers are floating point,
// "yes" is a boolean. What Helm would silently read in one of several ways is an error here:
// a key that is there twice, a key that is no text, several documents, a file that is no map.
// Size, nesting and aliases are bounded.
//
// # Merging
//
// Maps merge key by key; everything else is replaced, lists and null included. A null stays in the result:
// the chart's own value of that key is removed by it, as by Helm.
//
// # References
//
// $NAME and ${NAME} in a text are replaced by variables that are given explicitly; every other dollar sign stays
// what it is. What is put in is not searched again, and stays text: "$REPLICAS" does not become a number.
//
// # Provenance
//
// A [Key] says for each value at which file and line it was written and what it won against. A list is one value.
package values
