package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

var secretsOf = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// madeNamespace is where the Job of TestSecretsMadeByAJob makes Secrets.
const madeNamespace = "secrets-made"

// madeTemplate makes up a password, its hash, a URL with it in another Secret, and a certificate.
const madeTemplate = `{{ $p := randAlphaNum 24 }}{{ $ca := genCA "ca" 10 }}{{ $crt := genSignedCert "db" nil (list "db.svc") 5 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: made}
stringData: {password: {{ $p }}, hash: {{ (split ":" (htpasswd "" $p))._1 | quote }}, user: app}
---
apiVersion: v1
kind: Secret
metadata: {name: made-url}
stringData: {url: "db://{{ $p }}@db"}
---
apiVersion: v1
kind: Secret
metadata: {name: made-tls}
type: kubernetes.io/tls
stringData: {tls.crt: {{ $crt.Cert | quote }}, tls.key: {{ $crt.Key | quote }}}
`

// madeDelivery lets a Job make all of it.
const madeDelivery = `apiVersion: app.kalypso.io/v1alpha1
kind: Delivery
metadata: {name: hello-world-app}
spec:
  chart: {path: helm, namespace: ` + madeNamespace + `}
  secrets:
    - {name: made, from: Job, image: "registry.test/kalypso-agent:v1"}
    - {from: Job, image: "registry.test/kalypso-agent:v1"}
`

// madeStory is an application whose chart makes up Secrets, and a cluster on which its Job does.
type madeStory struct {
	cluster *harness.Cluster
	source  string
	// repositories is the folder with all that is in Git.
	repositories string
}

// TestSecretsMadeByAJob: a Job makes the Secrets that a chart makes up, with its own rights on a real API server. It makes them once, and again when
// they are rotated; no value is in Git.
func TestSecretsMadeByAJob(t *testing.T) {
	t.Parallel()
	s := newMadeStory(t)
	before := s.deliver(t)
	if len(before["made"]["password"]) != 24 || before["made"]["user"] != "app" || before["made-url"]["url"] != "db://"+before["made"]["password"]+"@db" ||
		!strings.HasPrefix(before["made"]["hash"], "$2a$") || !strings.Contains(before["made-tls"]["tls.crt"], "BEGIN CERTIFICATE") {
		t.Fatalf("the Secrets have the keys %v", keysOf(before))
	}
	for name, again := range s.deliver(t) {
		for key, value := range again {
			if value != before[name][key] {
				t.Errorf("%s/%s changed with the second delivery", name, key)
			}
		}
	}
	s.run(t, "app", "secrets", "rotate", "made", "--source", s.source)
	s.git(t, "commit", "-q", "-a", "-m", "Rotate")
	after := s.deliver(t)
	password := after["made"]["password"]
	if password == before["made"]["password"] || after["made"]["hash"] == before["made"]["hash"] || after["made-url"]["url"] != "db://"+password+"@db" {
		t.Error("the rotation did not make the password, and all that belongs to it, again")
	}
	if after["made"]["user"] != "app" || after["made-tls"]["tls.key"] != before["made-tls"]["tls.key"] {
		t.Error("the rotation changed what does not belong to the password")
	}
	s.wantNoValues(t, before, after)
}

func newMadeStory(t *testing.T) *madeStory {
	t.Helper()
	folder := t.TempDir()
	s := &madeStory{cluster: stack.Clusters[large], source: filepath.Join(folder, "hello-world-app"), repositories: folder}
	s.run(t, "init", "app", s.source)
	s.run(t, "init", "config", s.source+"-configs")
	for path, text := range map[string]string{"helm/templates/made.yaml": madeTemplate, "workload/delivery.yaml": madeDelivery} {
		must(t, os.WriteFile(filepath.Join(s.source, path), []byte(text), 0o600))
	}
	s.git(t, "add", "-A")
	s.git(t, "commit", "-q", "-m", "Make Secrets")
	must(t, s.cluster.Apply(t.Context(), harness.Namespace(madeNamespace)))
	t.Cleanup(func() {
		must(t, s.cluster.Delete(context.Background(), harness.Namespace(madeNamespace))) // the test's own context is over
	})
	return s
}

func (s *madeStory) run(t *testing.T, args ...string) string {
	t.Helper()
	result, err := kalypso.Run(t.Context(), args...)
	must(t, err)
	if result.Code != 0 {
		t.Fatalf("kalypso %s exits with %d:\n%s", strings.Join(args, " "), result.Code, result.Stderr)
	}
	return result.Stdout
}

func (s *madeStory) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", s.source, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
}

// deliver renders the application, applies what makes its Secrets, runs the Job with its service account, and returns the Secrets. A cluster
// without nodes runs no pods, so the program of the Job runs beside it.
func (s *madeStory) deliver(t *testing.T) map[string]map[string]string {
	t.Helper()
	text := s.run(t, "app", "render", "-e", "dev", "--target", "functional-test", "--source", s.source)
	must(t, os.WriteFile(filepath.Join(s.repositories, "rendered.yaml"), []byte(text), 0o600))
	objects, err := harness.Documents(text)
	must(t, err)
	var account string
	var args []string
	for _, o := range objects {
		switch o.GetKind() {
		case "Secret":
			t.Fatalf("the Secret %s is among the manifests", o.GetName())
		case "Job":
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			account, _, _ = unstructured.NestedString(o.Object, "spec", "template", "spec", "serviceAccountName")
		}
		o.SetNamespace(madeNamespace)
		must(t, s.cluster.Apply(t.Context(), o))
	}
	as, err := s.cluster.As(t.Context(), madeNamespace, account)
	must(t, err)
	if _, err := as.Get(t.Context(), secretsOf, madeNamespace, "another"); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("the Job can read other Secrets: %v", err)
	}
	result, err := kalypso.Agent().Run(t.Context(), append(args, "--kubeconfig", as.Kubeconfig(), "--namespace", madeNamespace)...)
	must(t, err)
	if result.Code != 0 {
		t.Fatalf("the Job exits with %d:\n%s", result.Code, result.Stderr)
	}
	found := map[string]map[string]string{}
	for _, name := range []string{"made", "made-url", "made-tls"} {
		o, err := s.cluster.Get(t.Context(), secretsOf, madeNamespace, name)
		must(t, err)
		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		must(t, err)
		for key, value := range data {
			decoded, err := base64.StdEncoding.DecodeString(value)
			must(t, err)
			data[key] = string(decoded)
			if key != "user" && strings.Contains(result.Stdout+result.Stderr, data[key]) {
				t.Errorf("the Job prints %s/%s", name, key)
			}
		}
		found[name] = data
	}
	return found
}

func keysOf(secrets map[string]map[string]string) map[string][]string {
	keys := map[string][]string{}
	for name, data := range secrets {
		for key := range data {
			keys[name] = append(keys[name], key)
		}
	}
	return keys
}

// wantNoValues checks that no made-up value is in the repositories, or in what was rendered from them.
func (s *madeStory) wantNoValues(t *testing.T, all ...map[string]map[string]string) {
	t.Helper()
	must(t, filepath.WalkDir(s.repositories, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secrets := range all {
			for name, data := range secrets {
				for key, value := range data {
					if key != "user" && bytes.Contains(content, []byte(value)) {
						t.Errorf("%s has the value of %s/%s", path, name, key)
					}
				}
			}
		}
		return err
	}))
}
