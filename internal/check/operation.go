package check

import (
	"slices"
	"strings"
)

// Rules about how workloads run.
const (
	RuleProbes          = "probes"
	RuleDanglingService = "dangling-service"
)

// probed are the workloads whose rollouts wait for pods to be ready.
var probed = []string{"apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 DaemonSet"}

// probes finds workloads of which no container has a probe.
// https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
func probes(p pod) []Finding {
	if !slices.Contains(probed, p.apiVersion()+" "+p.kind()) {
		return nil
	}
	any := false
	for _, c := range p.containers() {
		for _, field := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
			any = any || c.fields[field] != nil
		}
	}
	if any || len(p.containers()) == 0 {
		return nil
	}
	return []Finding{p.finding(RuleProbes, p.at.at("containers"), "no container has a probe, so a pod counts as ready as soon as it starts", "add a readinessProbe")}
}

// danglingServices finds Services that select no pod of the file. Without workloads in the file, or with custom resources, whose
// controllers may create pods, nothing is known.
func (s *Schemas) danglingServices(manifests []*manifest) []Finding {
	var templates []map[string]any
	for _, m := range manifests {
		if at, ok := podPaths[m.apiVersion()+" "+m.kind()]; ok {
			above, _ := lookup(m.content, at[:len(at)-1]).(map[string]any)
			metadata, _ := above["metadata"].(map[string]any)
			labels, _ := metadata["labels"].(map[string]any)
			templates = append(templates, labels)
		} else if !s.served(m) && !strings.HasPrefix(m.apiVersion(), "apiextensions.k8s.io/") {
			return nil
		}
	}
	if len(templates) == 0 {
		return nil
	}
	var findings []Finding
	for _, m := range manifests {
		selector, ok := lookup(m.content, fieldPath{"spec", "selector"}).(map[string]any)
		if m.apiVersion() != "v1" || m.kind() != "Service" || !ok || len(selector) == 0 {
			continue
		}
		selects := func(labels map[string]any) bool {
			for key, value := range selector {
				if labels[key] != value {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(templates, selects) {
			findings = append(findings, m.finding(RuleDanglingService, fieldPath{"spec", "selector"},
				"selects no pod of this file", "compare it with spec.template.metadata.labels of the workload"))
		}
	}
	return findings
}
