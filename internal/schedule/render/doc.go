// Package render renders templates to the manifests of one assignment.
//
// Templates are Go templates with the functions of sprig, except those that read the environment or are not deterministic.
// Templates are untrusted input: the parse tree is rewritten so that
// every loop and template body draws from a budget, expensive functions are limited, and
// output is bounded. A template can test an absent key; printing it is an error that names template, key and assignment.
// Output is never executed again.
//
// Each template is parsed once until it changes ([NewLibrary]) and executed on all cores, each with its own [Worker].
// Adjacent texts, keys and configurations as YAML are written by one call. Nearly every template is compiled to Go functions, which write what text/template
// would, at a fraction of its cost; text/template executes the others, and decides whatever is unusual or a mistake. Whether rendered YAML parses is checked
// once for each path through the template's branches, and again only if a value has characters that are special in YAML.
//
// Clusters apply the folder of their cluster type as a whole, and refuse all of it if one object has an invalid name, label or
// address. This package checks for those, so that a mistake holds one assignment and not a cluster.
package render
