package check

import (
	"fmt"
	"strings"
)

// RuleIdentity is the rule that every object of a file has a name, and no other object of the file has the same. A
// reconciler applies objects by name, and refuses all of a folder otherwise.
const RuleIdentity = "identity"

// identities finds objects without a name, and objects that are there twice.
func identities(manifests []*manifest) []Finding {
	var findings []Finding
	first := map[string]*manifest{}
	for _, m := range manifests {
		meta, _ := m.content["metadata"].(map[string]any)
		name := text(meta, "name")
		switch {
		case strings.HasPrefix(m.apiVersion(), "kustomize.config.k8s.io/"):
		case name == "" && text(meta, "generateName") != "":
			findings = append(findings, m.finding(RuleIdentity, fieldPath{"metadata", "generateName"},
				"has no name; reconcilers apply objects by name, and would refuse or repeat it", "write metadata.name"))
		case name == "":
			findings = append(findings, m.finding(RuleIdentity, fieldPath{"metadata"}, "has no name", "write metadata.name"))
		default:
			key := strings.Join([]string{m.group(), m.kind(), text(meta, "namespace"), name}, "\x00")
			if before := first[key]; before != nil {
				findings = append(findings, m.finding(RuleIdentity, fieldPath{"metadata", "name"},
					fmt.Sprintf("is there twice: line %d has the same object", before.node.Line), "remove or rename one of them"))
				continue
			}
			first[key] = m
		}
	}
	return findings
}
