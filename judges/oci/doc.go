// Package oci runs the conformance program of the OCI distribution specification against the embedded registry, with everything switched on that
// docs/reference/serve.md claims.
//
// It is a module of its own, so that the program does not depend on what only its judge needs.
package oci
