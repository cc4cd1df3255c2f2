// Package meter bounds the work of untrusted templates: of their functions, by what each reads and builds.
//
// A template of a few bytes can call a function with a list that has itself a billion times, or build a text of a petabyte in fifty steps. A
// [Meter] charges for a call before it is made, and for its result. The templates of environments are metered as well as those of charts.
package meter
