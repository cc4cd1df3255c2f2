package sample

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
)

// What differs on real clusters.
var (
	clusterTypeName   = regexp.MustCompile(`(?m)^kind: ClusterType\nmetadata:\n  name: ([\w-]+)$`)
	clusterTypeLabels = regexp.MustCompile(`(?m)^kind: ClusterType\nmetadata:\n  name: [\w-]+\n  labels:\n`)
	reconcilerName    = regexp.MustCompile(`(?m)^(  reconciler: )[\w-]+$`)
	manifestsOf       = regexp.MustCompile(`(?m)^( +)manifests:\n( +)repo: `)
	oneMinute         = regexp.MustCompile(`(?m)^( +interval: )1m$`)
)

// adapt changes the example fleet for real clusters: with Flux, with a credential for private repositories,
// and with a short interval for a user who is watching.
func (s Site) adapt(content []byte) []byte {
	if m := clusterTypeName.FindSubmatch(content); m != nil && slices.Contains(s.Flux, string(m[1])) {
		content = reconcilerName.ReplaceAll(content, []byte("${1}flux"))
		if s.Secret != "" { // is in the namespace of Flux
			content = clusterTypeLabels.ReplaceAll(content, []byte("${0}    flux-sources: flux-system\n"))
		}
	}
	if len(s.Flux) > 0 && bytes.Contains(content, []byte("kind: Template")) {
		content = oneMinute.ReplaceAll(content, []byte("${1}10s"))
	}
	if s.Secret != "" {
		content = manifestsOf.ReplaceAll(content, []byte("${1}manifests:\n${2}secret: "+s.Secret+"\n${2}repo: "))
	}
	return content
}

// grants lets each workspace use the credential for the repository with its manifests.
func (s Site) grants() []byte {
	var text bytes.Buffer
	for _, of := range []struct{ workspace, repository string }{{"kaizen-app-team", AppGitOps}, {"platform-team", ServicesGitOps}} {
		fmt.Fprintf(&text, `---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Grant
metadata:
  name: %s
spec:
  deploymentTargetSelector:
    workspace: %[1]s
  secrets:
  - name: %s
    url: %s
`, of.workspace, s.Secret, s.Repository(of.repository))
	}
	return text.Bytes()
}
