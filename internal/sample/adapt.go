package sample

import (
	"bytes"
	"regexp"
	"slices"
)

// What is otherwise for real clusters.
var (
	clusterTypeName = regexp.MustCompile(`(?m)^kind: ClusterType\nmetadata:\n  name: ([\w-]+)$`)
	reconcilerName  = regexp.MustCompile(`(?m)^(  reconciler: )[\w-]+$`)
	manifestsOf     = regexp.MustCompile(`(?m)^( +)manifests:\n( +)repo: `)
	oneMinute       = regexp.MustCompile(`(?m)^( +interval: )1m$`)
)

// adapt lets real clusters follow what the example has for its own: with Flux, with a credential where repositories are private,
// and looking soon enough for somebody who watches.
func (s Site) adapt(content []byte) []byte {
	if m := clusterTypeName.FindSubmatch(content); m != nil && slices.Contains(s.Flux, string(m[1])) {
		content = reconcilerName.ReplaceAll(content, []byte("${1}flux"))
	}
	if len(s.Flux) > 0 && bytes.Contains(content, []byte("kind: Template")) {
		content = oneMinute.ReplaceAll(content, []byte("${1}10s"))
	}
	if s.Secret != "" {
		content = manifestsOf.ReplaceAll(content, []byte("${1}manifests:\n${2}secret: "+s.Secret+"\n${2}repo: "))
	}
	return content
}
