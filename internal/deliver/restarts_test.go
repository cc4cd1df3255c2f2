package deliver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// workloadDoc is a workload with a container, whose lines are those of the container and of the pod below it.
func workloadDoc(head string, pod ...string) string {
	return "apiVersion: apps/v1\nkind: " + head + "\n  template:\n    spec:\n      " + strings.Join(pod, "\n      ") + "\n"
}

const (
	oldMap     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {level: info, color: red}\n"
	newMap     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {level: debug, color: red}\n"
	deployment = "Deployment\nmetadata: {name: web}\nspec:"
	mounted    = "volumes: [{name: v, configMap: {name: app}}]"
)

func TestWhatRestarts(t *testing.T) {
	docs := func(texts ...string) []byte { return []byte(strings.Join(texts, "---\n")) }
	same := func(text string) [2][]byte { return [2][]byte{docs(oldMap, text), docs(newMap, text)} }
	env := "containers: [{name: c, env: [{name: L, valueFrom: {configMapKeyRef: {name: app, key: level}}}]}]"
	envFrom := "containers: [{name: c, envFrom: [{configMapRef: {name: app}}]}]"
	mounts := "containers: [{name: c, volumeMounts: [{name: v, mountPath: /etc}]}]"
	for name, tc := range map[string]struct {
		files [2][]byte
		want  string
	}{
		"a mounted file is read without a restart": {same(workloadDoc(deployment, mounted, mounts)), "ConfigMap/app  get new files without a restart: Deployment/web"},
		"an environment variable stays":            {same(workloadDoc(deployment, env)), "ConfigMap/app  keep the old data until they restart: Deployment/web"},
		"envFrom stays":                            {same(workloadDoc(deployment, envFrom)), "ConfigMap/app  keep the old data until they restart: Deployment/web"},
		"another key in the environment": {
			same(workloadDoc(deployment, strings.Replace(env, "level", "color", 1))), "ConfigMap/app  no workload of the target is known to read it",
		},
		"a file with a subPath stays": {
			same(workloadDoc(deployment, mounted, strings.Replace(mounts, "mountPath: /etc", "mountPath: /etc/l, subPath: level", 1))), "ConfigMap/app  keep the old data until they restart: Deployment/web",
		},
		"a subPath of another key": {
			same(workloadDoc(deployment, mounted, strings.Replace(mounts, "mountPath: /etc", "mountPath: /etc/l, subPath: color", 1))), "ConfigMap/app  no workload of the target is known to read it",
		},
		"items without the key": {
			same(workloadDoc(deployment, "volumes: [{name: v, configMap: {name: app, items: [{key: color, path: c}]}}]", mounts)), "ConfigMap/app  no workload of the target is known to read it",
		},
		"a projected volume": {
			same(workloadDoc(deployment, "volumes: [{name: v, projected: {sources: [{configMap: {name: app}}]}}]", mounts)), "ConfigMap/app  get new files without a restart: Deployment/web",
		},
		"a volume that no container mounts": {same(workloadDoc(deployment, mounted, "containers: [{name: c}]")), "ConfigMap/app  no workload of the target is known to read it"},
		"an init container reads once": {
			same(workloadDoc(deployment, mounted, "initContainers: [{name: c, volumeMounts: [{name: v, mountPath: /etc}]}]", "containers: [{name: d}]")),
			"ConfigMap/app  keep the old data until they restart: Deployment/web",
		},
		"a sidecar goes on": {
			same(workloadDoc(deployment, mounted, "initContainers: [{name: c, restartPolicy: Always, volumeMounts: [{name: v, mountPath: /etc}]}]", "containers: [{name: d}]")),
			"ConfigMap/app  get new files without a restart: Deployment/web",
		},
		"environment and files": {
			same(workloadDoc(deployment, mounted, strings.Replace(mounts, "volumeMounts", "envFrom: [{configMapRef: {name: app}}], volumeMounts", 1))),
			"ConfigMap/app  keep the old data until they restart: Deployment/web\nConfigMap/app  get new files without a restart: Deployment/web",
		},
		"a checksum in the template": {
			[2][]byte{
				docs(oldMap, workloadDoc(deployment+"\n  replicas: 1", mounted, mounts)),
				docs(newMap, workloadDoc(deployment+"\n  replicas: 1", mounted, mounts, "# \n    metadata: {annotations: {checksum: b}}")),
			}, "restart: Deployment/web\nConfigMap/app  restart with this change: Deployment/web",
		},
		"a hash in the name": {
			[2][]byte{
				docs(strings.Replace(oldMap, "name: app", "name: app-1", 1), workloadDoc(deployment, strings.Replace(mounted, "app", "app-1", 1), mounts)),
				docs(strings.Replace(newMap, "name: app", "name: app-2", 1), workloadDoc(deployment, strings.Replace(mounted, "app", "app-2", 1), mounts)),
			}, "restart: Deployment/web\nConfigMap/app-2  restart with this change: Deployment/web",
		},
		"only the number of replicas": {
			[2][]byte{docs(oldMap, workloadDoc(deployment+"\n  replicas: 1", mounted, mounts)), docs(newMap, workloadDoc(deployment+"\n  replicas: 2", mounted, mounts))},
			"ConfigMap/app  get new files without a restart: Deployment/web",
		},
		"a paused Deployment": {
			[2][]byte{docs(workloadDoc(deployment+"\n  paused: true", env)), docs(workloadDoc(deployment+"\n  paused: true", envFrom))}, "",
		},
		"a DaemonSet that is replaced by hand": {
			[2][]byte{
				docs(oldMap, workloadDoc("DaemonSet\nmetadata: {name: d}\nspec:\n  updateStrategy: {type: OnDelete}", env)),
				docs(newMap, workloadDoc("DaemonSet\nmetadata: {name: d}\nspec:\n  updateStrategy: {type: OnDelete}", envFrom)),
			}, "ConfigMap/app  keep the old data until they restart: DaemonSet/d",
		},
		"a partition of a StatefulSet": {
			[2][]byte{
				docs(oldMap, workloadDoc("StatefulSet\nmetadata: {name: d}\nspec:\n  updateStrategy: {rollingUpdate: {partition: 2}}", env)),
				docs(newMap, workloadDoc("StatefulSet\nmetadata: {name: d}\nspec:\n  updateStrategy: {rollingUpdate: {partition: 2}}", envFrom)),
			}, "ConfigMap/app  may get the data; it is not known when: StatefulSet/d",
		},
		"a CronJob": {
			same("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: {spec: {template: {spec: {" + env + "}}}}}\n"), "ConfigMap/app  get the data in their next run: CronJob/j",
		},
		"a Pod":                         {same("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + envFrom + "}\n"), "ConfigMap/app  keep the old data until they restart: Pod/p"},
		"another namespace":             {same(workloadDoc(strings.Replace(deployment, "name: web", "name: web, namespace: b", 1), env)), "ConfigMap/app  may get the data; it is not known when: Deployment/b/web"},
		"a kind that Kalypso knows not": {same("apiVersion: argoproj.io/v1alpha1\nkind: Deployment\nmetadata: {name: p}\nspec: {template: {spec: {" + envFrom + "}}}\n"), "ConfigMap/app  no workload of the target is known to read it"},
		"a Secret": {
			[2][]byte{
				docs("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nimmutable: true\nstringData: {a: b}\n"),
				docs("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nimmutable: true\nstringData: {a: c}\n", workloadDoc(deployment, "volumes: [{name: v, secret: {secretName: s}}]", mounts)),
			}, "Secret/s  immutable: API servers refuse other data\nSecret/s  get new files without a restart: Deployment/web",
		},
		"only labels":      {[2][]byte{[]byte(oldMap), []byte(strings.Replace(oldMap, "name: app", "name: app, labels: {a: b}", 1))}, ""},
		"a new ConfigMap":  {[2][]byte{nil, docs(newMap, workloadDoc(deployment, env))}, ""},
		"what is no YAML":  {[2][]byte{docs(oldMap), docs(newMap, "app: [\n", "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: app}\nspec: {template: 1}\n")}, "ConfigMap/app  no workload of the target is known to read it"},
		"lists for fields": {same("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {template: {spec: {containers: {a: app}, volumes: 7}}}\n"), "ConfigMap/app  no workload of the target is known to read it"},
	} {
		t.Run(name, func(t *testing.T) {
			restart, configs := restarts(changedObjects(tc.files[0], tc.files[1]), tc.files[1])
			if diff := cmp.Diff(tc.want, strings.Join(RestartLines(restart, configs), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
