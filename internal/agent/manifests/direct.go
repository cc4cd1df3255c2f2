package manifests

// direct returns what the agent needs to apply deliveries itself: the key of the server, a place for what it has applied, and rights.
//
// For the platform's folder, it can change the kinds that the built-in templates write, and for applications only act as the service accounts
// named "reconciler". It can give rights only through roles of that name, and "workload" of the template "restricted", in whatever namespace. Templates that write other kinds, and
// Grants of ClusterRoles, need a further ClusterRole that is bound to the agent.
func (i *Config) direct(labels object) []object {
	change := []string{"get", "list", "create", "patch", "delete"}
	rule := func(group string, verbs []string, resources ...string) object {
		return object{"apiGroups": []string{group}, "resources": resources, "verbs": verbs}
	}
	named := func(o object, names ...string) object { o["resourceNames"] = names; return o }
	name := agentName + "-apply"
	return []object{
		{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": agentName + "-server-key", "namespace": i.Namespace, "labels": labels},
			"data": object{"server.pem": i.ServerKey},
		},
		{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": agentName, "namespace": i.Namespace, "labels": labels},
			"spec": object{"accessModes": []string{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}},
		},
		{
			"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": object{"name": name, "labels": labels},
			"rules": []object{
				rule("", change, "namespaces", "serviceaccounts", "configmaps", "secrets", "resourcequotas", "limitranges"),
				rule("networking.k8s.io", change, "networkpolicies"),
				rule(rbac, change, "roles", "rolebindings"),
				named(rule(rbac, []string{"bind", "escalate"}, "roles"), "reconciler", "workload"),
				named(rule("", []string{"impersonate"}, "serviceaccounts"), "reconciler"),
			},
		},
		{
			"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": name, "labels": labels},
			"roleRef":  object{"apiGroup": rbac, "kind": "ClusterRole", "name": name},
			"subjects": []object{{"kind": "ServiceAccount", "name": agentName, "namespace": i.Namespace}},
		},
	}
}
