package check

// pod is the pod spec of an object, with its path.
type pod struct {
	*manifest
	at   fieldPath
	spec map[string]any
}

// podPaths are the paths of pod specs in objects.
var podPaths = map[string]fieldPath{
	"v1 Pod":                   {"spec"},
	"v1 PodTemplate":           {"template", "spec"},
	"v1 ReplicationController": {"spec", "template", "spec"},
	"apps/v1 Deployment":       {"spec", "template", "spec"},
	"apps/v1 ReplicaSet":       {"spec", "template", "spec"},
	"apps/v1 StatefulSet":      {"spec", "template", "spec"},
	"apps/v1 DaemonSet":        {"spec", "template", "spec"},
	"batch/v1 Job":             {"spec", "template", "spec"},
	"batch/v1 CronJob":         {"spec", "jobTemplate", "spec", "template", "spec"},
}

// podOf returns the pod spec of an object, if it has one.
func podOf(m *manifest) (p pod, ok bool) {
	at, ok := podPaths[m.apiVersion()+" "+m.kind()]
	if !ok {
		return pod{}, false
	}
	spec, ok := lookup(m.content, at).(map[string]any)
	return pod{manifest: m, at: at, spec: spec}, ok
}

// lookup returns the value at a path, or nil.
func lookup(content any, at fieldPath) any {
	for _, step := range at {
		switch step := step.(type) {
		case string:
			m, _ := content.(map[string]any)
			content = m[step]
		case int:
			l, _ := content.([]any)
			if step >= len(l) {
				return nil
			}
			content = l[step]
		}
	}
	return content
}

type container struct {
	pod
	at     fieldPath
	fields map[string]any
	// passing marks init and ephemeral containers, for which requests and limits are less important.
	passing bool
}

// containers returns all containers of a pod, in order.
func (p pod) containers() []container {
	var all []container
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		entries, _ := p.spec[list].([]any)
		for i, entry := range entries {
			if fields, ok := entry.(map[string]any); ok {
				all = append(all, container{pod: p, at: p.at.at(list, i), fields: fields, passing: list != "containers"})
			}
		}
	}
	return all
}

// security returns a field of the container's security context, or else of the pod's, with its path.
func (c container) security(field string) (value any, at fieldPath) {
	own, _ := c.fields["securityContext"].(map[string]any)
	if value, ok := own[field]; ok {
		return value, c.at.at("securityContext", field)
	}
	of, _ := c.spec["securityContext"].(map[string]any)
	if value, ok := of[field]; ok {
		return value, c.pod.at.at("securityContext", field)
	}
	return nil, c.at.at("securityContext", field)
}
