package engine_test

import (
	"fmt"
	"strings"
	"testing"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// database is a chart that makes up a password and a certificate, with checksums of both.
func database(secrets ...app.ChartSecret) *chart.Job {
	job := oneTemplate(`{{ if not .Values.auth.existingSecret }}
apiVersion: v1
kind: Secret
metadata: {name: db, labels: {app: db}}
type: Opaque
data:
  password: {{ randAlphaNum 12 | b64enc }}
  url: {{ printf "db://app:%s@db" (.Values.auth.password | default (randAlphaNum 16)) | b64enc }}
  user: {{ "app" | b64enc }}
{{ end }}
`,
		chart.File{Path: "templates/tls.yaml", Content: []byte(`{{ $ca := genCA "db-ca" 365 }}{{ $crt := genSignedCert "db" nil (list "db" "db.svc") 90 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: db-tls}
type: kubernetes.io/tls
stringData:
  tls.crt: {{ $crt.Cert | quote }}
  tls.key: {{ $crt.Key | quote }}
  ca.crt: {{ $ca.Cert | quote }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: db}
webhooks: [{name: db.example.com, clientConfig: {caBundle: {{ $ca.Cert | b64enc }}}}]
`)},
		chart.File{Path: "templates/db.yaml", Content: []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec: {template: {metadata: {annotations: {checksum/secret: {{ include (print $.Template.BasePath "/x.yaml") . | sha256sum }}}}}}
`)},
		chart.File{Path: "values.yaml", Content: []byte("auth: {existingSecret: '', password: ''}")})
	job.ListMade = true
	job.Targets[0].Secrets = secrets
	return job
}

// What a chart makes up is found where it ends, with the sources that can make it instead, and the chart's own
// value for an existing Secret.
func TestMadeUpValuesAreFound(t *testing.T) {
	r := engine.Run(database(), nil).Targets[0]
	if r.Manifests != nil {
		t.Error("it was rendered")
	}
	var got strings.Builder
	for _, m := range r.Made {
		fmt.Fprintf(&got, "%s %s %s can %q value %q keys %q\n", m.Object, m.Fields, m.Use, m.Can, m.Value, m.Keys)
	}
	want := `Deployment/db [spec.template.metadata.annotations.checksum/secret] checksum can [] value "" keys []
Secret/db-tls [stringData."ca.crt" stringData."tls.crt" stringData."tls.key"] certificate can ["CertManager" "Job"] value "" keys ["ca.crt" "tls.crt" "tls.key"]
ValidatingWebhookConfiguration/db [webhooks[0].clientConfig.caBundle] certificate can ["CertManager"] value "" keys []
Secret/db [data.password data.url] password can ["ExternalSecrets" "Job"] value "auth.existingSecret" keys ["password" "url"]
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// Secrets come from where the Delivery says. No value is in the manifests, which are the same each time, and
// everything else is as it was.
func TestSecretsComeFromElsewhere(t *testing.T) {
	external, manager := app.ChartSecret{From: app.FromExternalSecrets}, app.ChartSecret{From: app.FromCertManager}
	r := engine.Run(database(external, manager), nil).Targets[0]
	if r.Manifests == nil {
		t.Fatal(showProblems(r.Problems))
	}
	got := string(r.Manifests.Content)
	for _, want := range []string{
		"kind: ExternalSecret", "creationPolicy: Orphan", "refreshPolicy: CreatedOnce", "password: '{{ .value1 }}'", "url: db://app:{{ .value2 }}@db", "user: app",
		"length: 12", "length: 16", "type: Opaque", "dnsNames:", "duration: 2160h", "cert-manager.io/inject-ca-from: ns/db-tls", "isCA: true",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"kind: Secret\n", "BEGIN", "caBundle"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
	if again := engine.Run(database(external, manager), nil).Targets[0]; string(again.Manifests.Content) != got {
		t.Error("other bytes the second time")
	}
	existing := app.ChartSecret{Name: "db", From: app.FromExisting, Value: "auth.existingSecret", Secret: "mine"}
	if r := engine.Run(database(existing, manager), nil).Targets[0]; r.Manifests == nil || strings.Contains(string(r.Manifests.Content), "kind: ExternalSecret") {
		t.Error(showProblems(r.Problems))
	}
}

// A source that cannot make the values of a Secret leaves it refused: another Secret has the same value, a hash, or
// a part of a text.
func TestSecretsThatCannotComeFromElsewhere(t *testing.T) {
	secret := func(name, value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData: {a: '" + value + "'}\n---\n"
	}
	for name, text := range map[string]string{
		"shared": `{{ $p := randAlpha 9 }}` + secret("a", "{{ $p }}") + secret("b", "{{ $p }}"), "hash": secret("a", `{{ htpasswd "a" "b" }}`),
		"part": secret("a", `{{ randAlpha 9 | sha256sum }}`), "short": secret("a", `{{ randAlpha 3 }}`),
		"elsewhere": `{{ $p := randAlpha 9 }}` + secret("a", "{{ $p }}") + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: {{ $p }}}\n",
		"name":      secret("a-{{ randAlpha 9 }}", "b"),
	} {
		job := oneTemplate(text)
		job.Targets[0].Secrets = []app.ChartSecret{{From: app.FromExternalSecrets}, {From: app.FromCertManager}}
		if r := engine.Run(job, nil).Targets[0]; r.Manifests != nil {
			t.Errorf("%s: rendered\n%s", name, r.Manifests.Content)
		}
	}
}

// jobbed returns a job with the namespace that a Job needs.
func jobbed(job *chart.Job, secrets ...app.ChartSecret) chart.Rendered {
	job.Targets[0].Namespace, job.Targets[0].Secrets = "ns", secrets
	return engine.Run(job, nil).Targets[0]
}

var fromJob = app.ChartSecret{From: app.FromJob, Image: "registry.example.com/kalypso-agent:v1"}

// A Job makes Secrets with what no generator makes: a value that two Secrets have, hashes of made-up passwords, times. Its recipe has no value,
// and its name changes with it.
func TestSecretsComeFromAJob(t *testing.T) {
	const text = `{{ $p := randAlphaNum 20 }}{{ $ca := genCA "ca" 10 }}{{ $c := genSignedCert "c" (list "10.0.0.1") (list "c.svc") 5 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: a, labels: {app: a}}
stringData:
  password: {{ $p }}
  hash: {{ (split ":" (htpasswd "" $p))._1 | quote }}
  at: {{ dateInZone "2006-01-02T15:04:05Z" (now) "UTC" | quote }}
  config: |
    key: |
{{ $c.Key | indent 6 }}
    crt: |
{{ $c.Cert | indent 6 }}
---
apiVersion: v1
kind: Secret
metadata: {name: b}
stringData: {url: "db://{{ $p }}", bytes: {{ randBytes 8 | quote }}, id: {{ uuidv4 }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, annotations: {checksum/a: {{ $p | sha256sum }}}}
`
	r := jobbed(oneTemplate(text), fromJob)
	if r.Manifests == nil {
		t.Fatal(showProblems(r.Problems))
	}
	got := string(r.Manifests.Content)
	for _, want := range []string{
		"kind: Job", "kind: ServiceAccount", "kind: RoleBinding", "namespace: ns", "resourceNames:\n  - a\n  - b\n", `"function":"bcrypt","of":`, `"layout":"2006-01-02T15:04:05Z07:00"`,
		`"commonName":"c","dnsNames":["c.svc"],"ips":["10.0.0.1"],"days":5,"by":`, `"function":"randBytes","length":8`, "image: registry.example.com/kalypso-agent:v1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "kind: Secret\n") || strings.Count(got, "kind: Job") != 1 {
		t.Errorf("got\n%s", got)
	}
	if again := jobbed(oneTemplate(text), fromJob); string(again.Manifests.Content) != got {
		t.Error("other bytes the second time")
	}
	rotated := fromJob
	rotated.Rotation = 1
	changed := jobbed(oneTemplate(text), rotated)
	if changed.Manifests == nil || lineWith(string(changed.Manifests.Content), "checksum/a") == lineWith(got, "checksum/a") ||
		lineWith(string(changed.Manifests.Content), "name: hello-secrets-") == lineWith(got, "name: hello-secrets-") {
		t.Error("a rotation changes neither the checksum nor the Job")
	}
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

// A Job makes no Secret whose recipe would need a value in Git, or whose value is in another object, too.
func TestSecretsThatNoJobMakes(t *testing.T) {
	secret := func(name, value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData: {a: '" + value + "'}\n---\n"
	}
	named := fromJob
	named.Name = "a"
	for name, test := range map[string]struct {
		text  string
		entry app.ChartSecret
	}{
		"a hash of a known text": {secret("a", `{{ htpasswd "a" "b" }}`), fromJob},
		"part of a value":        {secret("a", `{{ randAlpha 9 | sha256sum }}`), fromJob},
		"another Secret":         {`{{ $p := randAlpha 9 }}` + secret("a", "{{ $p }}") + secret("b", "{{ $p }}"), named},
		"another namespace":      {strings.Replace(secret("a", "{{ randAlpha 9 }}"), "{name: a", "{namespace: other, name: a", 1), fromJob},
		"an authority elsewhere": {secret("a", `{{ (genSignedCert "a" nil nil 1 (buildCustomCert "YQ==" "YQ==")).Cert }}`), fromJob},
	} {
		if r := jobbed(oneTemplate(test.text), test.entry); r.Manifests != nil {
			t.Errorf("%s: rendered\n%s", name, r.Manifests.Content)
		}
	}
	job := oneTemplate(secret("a", "{{ randAlpha 9 }}"))
	job.ListMade, job.Targets[0].Namespace, job.Targets[0].Secrets = true, "", []app.ChartSecret{fromJob}
	if r := engine.Run(job, nil).Targets[0]; r.Manifests != nil || strings.Contains(strings.Join(r.Made[0].Can, " "), "Job") {
		t.Errorf("without a namespace: %v", r.Made)
	}
}
