package check

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// Security rules, based on the Pod Security Standards of Kubernetes
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
const (
	RulePrivileged         = "privileged"
	RuleHostPath           = "host-path"
	RuleHostNamespaces     = "host-namespaces"
	RuleHostPort           = "host-port"
	RuleCapabilities       = "capabilities"
	RuleEscalation         = "privilege-escalation"
	RuleRoot               = "run-as-root"
	RuleWritableRoot       = "writable-root"
	RuleLimits             = "limits"
	RuleLatestTag          = "latest-tag"
	RuleImage              = "image"
	RuleWildcardPermission = "wildcard-permission"
)

var securityRules = []struct {
	names []string
	look  func(m *manifest) []Finding
}{
	{[]string{RuleHostPath, RuleHostNamespaces}, ofPods(host)},
	{[]string{RulePrivileged}, ofContainers(privileged)},
	{[]string{RuleHostPort}, ofContainers(hostPort)},
	{[]string{RuleCapabilities}, ofContainers(capabilities)},
	{[]string{RuleEscalation}, ofContainers(escalation)},
	{[]string{RuleRoot}, ofContainers(root)},
	{[]string{RuleWritableRoot}, ofContainers(writableRoot)},
	{[]string{RuleLimits}, ofContainers(limits)},
	{[]string{RuleProbes}, ofPods(probes)},
	{[]string{RuleLatestTag}, ofContainers(latestTag)},
	{[]string{RuleImage}, ofContainers(image)},
	{[]string{RuleWildcardPermission}, wildcards},
}

func ofPods(look func(p pod) []Finding) func(*manifest) []Finding {
	return func(m *manifest) []Finding {
		if p, ok := podOf(m); ok {
			return look(p)
		}
		return nil
	}
}

func ofContainers(look func(c container) []Finding) func(*manifest) []Finding {
	return ofPods(func(p pod) []Finding {
		var findings []Finding
		for _, c := range p.containers() {
			findings = append(findings, look(c)...)
		}
		return findings
	})
}

// host finds access of a pod to its node.
func host(p pod) []Finding {
	var findings []Finding
	volumes, _ := p.spec["volumes"].([]any)
	for i := range volumes {
		at := p.at.at("volumes", i, "hostPath")
		if lookup(p.content, at) != nil {
			findings = append(findings, p.finding(RuleHostPath, at, "mounts a folder of the node", "use a volume that belongs to the pod"))
		}
	}
	for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if p.spec[field] == true {
			findings = append(findings, p.finding(RuleHostNamespaces, p.at.at(field), "shares this namespace with the node", "remove it"))
		}
	}
	return findings
}

func privileged(c container) []Finding {
	if value, at := c.security("privileged"); value == true {
		return []Finding{c.finding(RulePrivileged, at, "has all rights on the node", "remove it, and add only the capability that is needed")}
	}
	return nil
}

func hostPort(c container) []Finding {
	var findings []Finding
	ports, _ := c.fields["ports"].([]any)
	for i := range ports {
		at := c.at.at("ports", i, "hostPort")
		if value := lookup(c.content, at); value != nil && fmt.Sprint(value) != "0" {
			findings = append(findings, c.finding(RuleHostPort, at, "takes a port of the node", "use a Service"))
		}
	}
	return findings
}

// capabilities requires that containers drop all capabilities, and add at most the one to listen on ports below 1024.
func capabilities(c container) []Finding {
	value, at := c.security("capabilities")
	set, _ := value.(map[string]any)
	var findings []Finding
	added, _ := set["add"].([]any)
	for i, name := range added {
		if name != "NET_BIND_SERVICE" {
			findings = append(findings, c.finding(RuleCapabilities, at.at("add", i), fmt.Sprintf("adds the capability %.60q", fmt.Sprint(name)), "remove it, unless the program needs it"))
		}
	}
	dropped, _ := set["drop"].([]any)
	for _, name := range dropped {
		if s, _ := name.(string); strings.EqualFold(s, "all") {
			return findings
		}
	}
	return append(findings, c.finding(RuleCapabilities, at, "keeps the default capabilities of containers", `set drop: ["ALL"]`))
}

func escalation(c container) []Finding {
	if value, at := c.security("allowPrivilegeEscalation"); value != false {
		return []Finding{c.finding(RuleEscalation, at, "allows programs to gain rights", "set it to false")}
	}
	return nil
}

func root(c container) []Finding {
	if user, at := c.security("runAsUser"); user != nil && fmt.Sprint(user) == "0" {
		return []Finding{c.finding(RuleRoot, at, "runs as root", "set another user")}
	}
	if value, at := c.security("runAsNonRoot"); value != true {
		return []Finding{c.finding(RuleRoot, at, "may run as root", "set it to true")}
	}
	return nil
}

func writableRoot(c container) []Finding {
	if value, at := c.security("readOnlyRootFilesystem"); value != true {
		return []Finding{c.finding(RuleWritableRoot, at, "has a writable root file system", "set it to true, and mount an emptyDir where the program writes files")}
	}
	return nil
}

// limits requires a memory limit, so that one container cannot use all memory of its node, and requests, for scheduling.
func limits(c container) []Finding {
	if c.passing {
		return nil
	}
	at := c.at.at("resources")
	var missing []string
	for _, want := range []fieldPath{{"limits", "memory"}, {"requests", "cpu"}, {"requests", "memory"}} {
		// A request defaults to its limit.
		if lookup(c.content, at.at(want...)) == nil && lookup(c.content, at.at("limits", want[1])) == nil {
			missing = append(missing, want.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []Finding{c.finding(RuleLimits, at, "does not set "+strings.Join(missing, ", "), "set them, so that containers do not starve each other")}
}

// latestTag requires a tag other than latest, or a digest.
func latestTag(c container) []Finding {
	image, ok := c.fields["image"].(string)
	if !ok || strings.Contains(image, "@") {
		return nil
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if tagged && tag != "latest" {
		return nil
	}
	return []Finding{c.finding(RuleLatestTag, c.at.at("image"), fmt.Sprintf("%.200q can become another image at any time", image), "use a version, preferably with its digest")}
}

// image finds references that no container runtime accepts.
func image(c container) []Finding {
	reference, ok := c.fields["image"].(string)
	if !ok {
		return nil // the schema says so
	}
	if _, err := chart.ParseImage(reference); err == nil {
		return nil
	}
	hint := "write [registry/]repository[:tag][@digest]"
	if strings.Contains(reference, "$") {
		hint = "the variable was not replaced; set it with --var where the values are written, or write the image"
	}
	return []Finding{c.finding(RuleImage, c.at.at("image"), fmt.Sprintf("%.200q is not an image", reference), hint)}
}

// wildcards finds roles that allow everything.
func wildcards(m *manifest) []Finding {
	if !strings.HasPrefix(m.apiVersion(), "rbac.authorization.k8s.io/") || m.kind() != "Role" && m.kind() != "ClusterRole" {
		return nil
	}
	var findings []Finding
	rules, _ := m.content["rules"].([]any)
	for i := range rules {
		for _, field := range []string{"verbs", "resources", "apiGroups"} {
			at := fieldPath{"rules", i, field}
			values, _ := lookup(m.content, at).([]any)
			for j, value := range values {
				if value == "*" && field != "apiGroups" {
					findings = append(findings, m.finding(RuleWildcardPermission, at.at(j), "allows everything", "list what is needed"))
				}
			}
		}
	}
	return findings
}
