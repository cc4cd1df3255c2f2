// Package reconcilers checks what the built-in templates write with the definitions of those who read it: the custom resources of Flux, Argo CD and
// Fleet, as a Kubernetes API server validates them.
//
// It is a module of its own, so that the program does not depend on what only its judge needs. The definitions are files of the reconcilers' modules,
// which the test downloads in fixed versions, with checksums.
package reconcilers
