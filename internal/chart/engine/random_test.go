package engine_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// A random function may be called, as long as the manifests do not depend on its result.
func TestRandomResultsThatAreNotUsed(t *testing.T) {
	for _, template := range []string{
		`{{ .Values.one | default (randAlphaNum 10) }}`, `{{ default (genCA "a" 1).Cert .Values.one }}`, `{{ coalesce .Values.one (now | date "2006") }}`,
		`{{ $x := uuidv4 }}{{ .Values.one }}`, `{{ len (randAlpha 7) }}`, `{{ ternary .Values.one (genPrivateKey "rsa") true }}`,
		`{{ $ca := genCA "a" 1 }}{{ $c := genSignedCert "a" nil (list "b") 1 $ca }}{{ .Values.one }}`,
	} {
		job := oneTemplate(printing(template), chart.File{Path: "values.yaml", Content: []byte("one: abc")})
		if r := engine.Run(job, nil).Targets[0]; r.Manifests == nil {
			t.Errorf("%s: %s", template, showProblems(r.Problems))
		}
	}
}

// Each use of a result is an error, whatever the template does with it.
func TestRandomResultsThatAreUsed(t *testing.T) {
	for _, template := range []string{
		`{{ randAlphaNum 10 }}`, `{{ randAscii 3 | b64enc }}`, `{{ randNumeric 1 | sha256sum }}`, `{{ randBytes 3 }}`, `{{ randInt 1 3 }}`, `{{ shuffle "ab" }}`,
		`{{ if lt (randInt 0 100) 50 }}x{{ end }}`, `{{ uuidv4 | trunc 1 }}`, `{{ bcrypt "x" }}`, `{{ htpasswd "a" "b" }}`, `{{ encryptAES "a" "b" }}`,
		`{{ genPrivateKey "ecdsa" | b64enc }}`, `{{ (genCA "x" 1).Key | b64enc }}`, `{{ (genCAWithKey "x" 1 "k").Cert | b64enc }}`,
		`{{ (genSelfSignedCert "x" nil nil 1).Cert | b64enc }}`, `{{ (genSelfSignedCertWithKey "x" nil nil 1 "k").Cert | b64enc }}`,
		`{{ (genSignedCert "x" nil nil 1 (genCA "a" 1)).Cert | b64enc }}`, `{{ (genSignedCertWithKey "x" nil nil 1 (genCA "a" 1) "k").Cert | b64enc }}`,
		`{{ now | date "2006" }}`, `{{ now | unixEpoch }}`, `{{ if gt (now | unixEpoch | int64) 1700000000 }}x{{ end }}`, `{{ ago (toDate "2006" "2020") }}`,
		`{{ if eq (randInt 0 2) 1 }}{{ fail "bad luck" }}{{ end }}`, `{{/* */}}"} # {{ randAlpha 2 }}{{ "\n" }}b: {c: "`,
	} {
		r := engine.Run(oneTemplate(printing(template)), nil).Targets[0]
		if got := showProblems(r.Problems); !strings.Contains(got, "depends on a random function or the clock") {
			t.Errorf("%s: got %q and %v", template, got, r.Manifests)
		}
	}
}

// Hooks that are left out may be random, such as the names of the pods of tests. Hooks of installation may not.
func TestRandomResultsInHooks(t *testing.T) {
	hook := func(event string) string {
		return printing("a") + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: 'test-{{ randAlphaNum 5 | lower }}', annotations: {helm.sh/hook: '" + event + "'}}\n"
	}
	for event, want := range map[string]bool{"test": true, "test-success": true, "pre-delete": true, "post-rollback,test": true, "post-install": false, "test,pre-upgrade": false} {
		r := engine.Run(oneTemplate(hook(event)), nil).Targets[0]
		if got := r.Manifests != nil; got != want {
			t.Errorf("%s: rendered: %v, %s", event, got, showProblems(r.Problems))
		}
	}
}

// The values are found with the templates that matter alone, including those that they include.
func TestRandomResultsBehindManyTemplates(t *testing.T) {
	job := oneTemplate(printing(`{{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}`),
		chart.File{Path: "templates/secret.yaml", Content: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: {{ .Values.p | default (randAlpha 9) }}}\n")},
		chart.File{Path: "templates/work.yaml", Content: []byte("{{ range until 100000 }}{{ end }}")})
	problems := engine.Run(job, nil).Targets[0].Problems
	if len(problems) != 1 || !strings.HasSuffix(describe(problems[0]), ": \"p\"\n") {
		t.Error(showProblems(problems))
	}
}

// All parts that depend on random results are listed at once, each with the value that avoids it. Values of dependencies and of
// helpers that take the name of a value are found, too.
func TestRandomResultsNameTheValueThatAvoidsThem(t *testing.T) {
	job := oneTemplate(`apiVersion: v1
kind: Secret
metadata: {name: {{ .Values.nameOverride | default "db" }}}
stringData:
  password: {{ .Values.auth.password | default (randAlphaNum 10) }}
  admin: {{ include "password" (dict "key" "auth.admin" "context" $) }}
  salt: {{ randAlphaNum 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x, annotations: {checksum/a: {{ .Values.auth.password | default (randAlphaNum 10) | sha256sum }}}}
`,
		chart.File{Path: "templates/_p.tpl", Content: []byte(`{{ define "password" }}{{ $v := .context.Values }}{{ range splitList "." .key }}{{ $v = get $v . }}{{ end }}{{ $v | default (randAlpha 9) }}{{ end }}`)},
		chart.File{Path: "values.yaml", Content: []byte("auth: {password: '', admin: ''}")},
		chart.File{Path: "charts/sub/Chart.yaml", Content: []byte("apiVersion: v2\nname: sub\nversion: 0.1.0\n")},
		chart.File{Path: "charts/sub/templates/x.yaml", Content: []byte(`{{ if not .Values.tls.existingSecret }}
{{ $ca := genCA "a" 365 }}
apiVersion: v1
kind: Secret
metadata: {name: tls}
data: {crt: {{ $ca.Cert | b64enc }}}
{{ end }}
`)},
		chart.File{Path: "charts/sub/values.yaml", Content: []byte("tls: {existingSecret: ''}")},
	)
	var got strings.Builder
	for _, p := range engine.Run(job, nil).Targets[0].Problems {
		got.WriteString(describe(p))
	}
	want := `hello/charts/sub/templates/x.yaml Secret/tls: data.crt: "sub.tls.existingSecret"
hello/templates/x.yaml Secret/db: stringData.admin: "auth.admin"
hello/templates/x.yaml Secret/db: stringData.password (and 1 more): "auth.password"
hello/templates/x.yaml Secret/db: stringData.salt: 
`
	if got.String() != want {
		t.Errorf("got\n%s, want\n%s", got.String(), want)
	}
}

func describe(p fleet.Problem) string {
	what, _, _ := strings.Cut(p.Message, " depends")
	value, _, _ := strings.Cut(strings.TrimPrefix(p.Hint, "set the value "), ";")
	if !strings.HasPrefix(value, `"`) {
		value = ""
	}
	return p.Position.String() + " " + p.Object.String() + ": " + what + ": " + value + "\n"
}
