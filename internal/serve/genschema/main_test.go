package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/serve"
)

func TestSchemaIsFresh(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/schemas/serve.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("docs/schemas/serve.json is stale; run make generate (-committed +generated):\n%s", diff)
	}
}

// Everything in the schema has a description, but for what its name says.
func TestSchemaDescribes(t *testing.T) {
	types, err := parseTypes(sources)
	if err != nil {
		t.Fatal(err)
	}
	for name, described := range types {
		for _, f := range described.fields {
			if f.text == "" && name != "App" {
				t.Errorf("%s.%s has no comment", name, f.name)
			}
		}
	}
}

// TestReference: the examples of the reference are right, for the server and for the schema.
func TestReference(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	if len(examples) == 0 {
		t.Fatal("there is no example")
	}
	for _, example := range examples {
		if err := accepts(t, example[1]); err != nil {
			t.Errorf("the schema: %v\n%s", err, example[1])
		}
		if err := check(example[1]); err != nil {
			t.Errorf("the server: %v\n%s", err, example[1])
		}
	}
	for name := range properties(t) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/reference/serve.md does not explain %s", name)
		}
	}
}

// The schema and the server say the same of what is right, and of what is wrong.
func TestSchemaAgreesWithTheServer(t *testing.T) {
	const base = "controlPlanes: [https://github.com/acme/fleet]\n"
	const hub = base + "forges:\n- url: https://github.com\n"
	for text, want := range map[string]bool{
		base:                             true,
		base + "poll: 30s\nworkers: 8\n": true,
		base + "log: {format: json, level: debug}\n":                     true,
		base + "map: {https://github.com/acme: /srv/acme}\n":             true,
		hub + "  tokenEnv: TOKEN\n":                                      true,
		hub + "  tokenFile: token\n  kind: github\n":                     true,
		hub + "  app: {id: 1, installationID: 2, privateKeyFile: key}\n": true,
		"control: []\n":                           false,
		base + "url: kalypso.example.com\n":       false,
		base + "url: https://me:pw@example.com\n": false,
		base + "poll: often\n":                    false,
		base + "poll: 10\n":                       false,
		base + "workers: -1\n":                    false,
		base + "log: {format: xml}\n":             false,
		base + "log: {level: loud}\n":             false,
		hub:                                       false,
		hub + "  tokenEnv: A\n  tokenFile: b\n":   false,
		hub + "  tokenEnv: A\n  kind: local\n":    false,
		hub + "  tokenEnv: A\n  kind: svn\n":      false,
		hub + "  tokenEnv: A\n  app: {id: 1, installationID: 2, privateKeyFile: key}\n":                           false,
		hub + "  app: {id: 1, installationID: 2}\n":                                                               false,
		base + "forges:\n- tokenEnv: A\n":                                                                         false,
		base + receiver("{name: a, kind: webhook, url: https://a.example, secretEnv: S}"):                         true,
		base + receiver("{name: a, kind: slack, urlFile: f}"):                                                     true,
		base + receiver("{name: a, kind: irc, urlEnv: U}"):                                                        false,
		base + receiver("{name: a, kind: slack, urlEnv: U, urlFile: f}"):                                          false,
		base + receiver("{name: a, kind: email, email: {server: 's:587', from: a@b.c, to: [d@e.f]}}"):             true,
		base + receiver("{name: a, kind: email, email: {server: 's:587', from: a@b.c, to: [d@e.f], tls: maybe}}"): false,
		base + "notifications: {routes: [{receivers: []}]}\n":                                                     false,
	} {
		if err := accepts(t, text); (err == nil) != want {
			t.Errorf("the schema says %v, want ok=%v:\n%s", err, want, text)
		}
		if err := check(text); (err == nil) != want {
			t.Errorf("the server says %v, want ok=%v:\n%s", err, want, text)
		}
	}
}

// receiver returns a configuration with a receiver that has the name "a", and a route to it.
func receiver(text string) string {
	return "notifications:\n  receivers: [" + text + "]\n  routes: [{receivers: [a], kinds: [failed], severity: error}]\n"
}

func check(text string) error {
	config, err := serve.ParseConfig([]byte(text), nil)
	if err != nil {
		return err
	}
	return config.Check()
}

func accepts(t *testing.T, text string) error {
	t.Helper()
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t).Validate(instance)
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// properties are the names of all properties, whatever they lie in.
func properties(t *testing.T) map[string]bool {
	t.Helper()
	types, err := parseTypes(sources)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, described := range types {
		for _, f := range described.fields {
			names[f.property] = true
		}
	}
	return names
}
