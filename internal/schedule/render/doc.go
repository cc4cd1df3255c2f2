// Package render fills in templates: the manifests of one assignment.
//
// Templates are Go templates with the functions of sprig, without those that look outside or differ from run to run.
// They come from the control plane and are hostile input all the same: the parse tree is rewritten so that
// every loop and template body draws from a budget, functions that build without end are limited and
// output is bounded. An absent key may be tested, printing it is an error that names template, key and assignment.
// What a template prints is never executed again.
//
// Each template is parsed once until it changes ([NewLibrary]) and executed on all cores, each core through a [Worker]
// of its own. Neighbouring texts and keys of a template are written by one call, so that rendering costs no more than
// executing the bare template does. That a rendered YAML document parses is checked once for each way through the template's branches,
// and again only where a value has characters that mean something in YAML.
//
// Clusters apply the folder of their cluster type as a whole, and refuse all of it for one object with a name, a label or an
// address that cannot be. That is looked for here too, so that it costs one assignment and not a cluster.
package render
