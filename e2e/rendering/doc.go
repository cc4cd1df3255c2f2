// Package rendering measures what it costs to render an application for many targets, side by side with the helm command.
//
//	kalypso app plan     one process     100 targets rendered, checked, and compared with what is published
//	helm template        100 processes   100 targets rendered
//
// Both have the same chart and the same values, and make the same objects, which is checked before anything is measured.
// It needs no fleet:
//
//	go test -run '^$' -bench . ./rendering
package rendering
