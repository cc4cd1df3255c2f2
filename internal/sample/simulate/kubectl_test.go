package simulate

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (w *world) kubectl(args string) string {
	w.Helper()
	var out bytes.Buffer
	if err := w.Kubectl(&out, "large-01", strings.Fields(args)); err != nil {
		return "error: " + err.Error() + "\n"
	}
	return out.String()
}

func TestKubectl(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	w.pass(time.Second)
	w.pass(90 * time.Second)
	for args, want := range map[string]string{
		"get configmaps -A": `
NAMESPACE        NAME              DATA   AGE
dev-large-shop   platform-config   2      91s
`,
		"get cm,deploy -n dev-large-shop": `
NAME              DATA   AGE
platform-config   2      91s

NAME   READY   UP-TO-DATE   AVAILABLE   AGE
shop   2/2     2            2           91s
`,
		"get ns": `
NAME             STATUS   AGE
default          Active   91s
dev-large-shop   Active   91s
flux-system      Active   91s
kube-system      Active   91s
`,
		"get deployments":                          "No resources found in default namespace.\n",
		"get secrets -A":                           "No resources found.\n",
		"get deployments.apps/shop -o name":        "error: deployments.apps \"shop\" not found\n",
		"get -n dev-large-shop deploy/shop -oname": "deployment.apps/shop\n",
		"get widgets":                              "error: the simulated cluster doesn't have a resource type \"widgets\"\n",
		"get":                                      "error: name a kind, for example: get configmaps -A\n",
		"get cm -o jsonpath":                       "error: output \"jsonpath\": want wide, yaml, json or name\n",
		"apply -f x":                               "error: unknown shorthand flag: 'f' in -f\n",
		"delete ns default":                        "error: " + errReadOnly.Error() + "\n",
		"get cm platform-config -n dev-large-shop -o yaml": `
apiVersion: v1
data:
  DATABASE_URL: mysql://west:3306/<db>
  REGION: West US
kind: ConfigMap
metadata:
  creationTimestamp: "2026-11-20T12:00:00Z"
  generation: 1
  labels:
    kustomize.toolkit.fluxcd.io/name: platform-dev-large
    kustomize.toolkit.fluxcd.io/namespace: flux-system
  name: platform-config
  namespace: dev-large-shop
`,
	} {
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), w.kubectl(args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
	if got := w.kubectl("get kustomizations -A"); !strings.Contains(got, "True    Applied revision: dev@sha1:") {
		t.Errorf("got %s", got)
	}
	if got := w.kubectl("get ks -A -o json"); !strings.HasPrefix(got, `{"apiVersion":"v1"`) {
		t.Errorf("got %s", got)
	}
	if got := w.kubectl("api-resources"); !strings.Contains(got, "kustomizations") || !strings.Contains(got, "deployments") || strings.Contains(got, "v1beta1 ") {
		t.Errorf("got %s", got)
	}
	if err := w.Kubectl(&bytes.Buffer{}, "large-02", []string{"get", "ns"}); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("got %v, want ErrUnknownCluster", err)
	}
}
