package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// notFollowed are the guides that no script follows, with a test of what they show, and why it is not a script.
var notFollowed = map[string]struct{ file, test, why string }{
	"backstage":               {"../../internal/serve/api/backstage_test.go", "TestCatalogOfBackstage", "Backstage reads its files"},
	"install":                 {"../../tools/release/release_test.go", "TestTheComponentRunsTheInstaller", "it needs a release"},
	"postgresql":              {"../../internal/ledger/postgres/server_test.go", "TestServer", "it needs PostgreSQL"},
	"require-signatures":      {"../../internal/check/scanner/signatures_test.go", "TestImagesMustBeSigned", "it needs a registry with signed images"},
	"run-on-kubernetes":       {"guides_test.go", "TestTheValuesForKubernetesAreGood", "it needs a cluster; the end-to-end tests install the chart"},
	"run-the-operator":        {"../../e2e/operator_test.go", "TestOperator", "it needs a cluster"},
	"sample-on-real-clusters": {"../../e2e/sample_test.go", "TestSampleOnRealThings", "it needs clusters and a forge"},
	"set-values-on-a-page":    {"../../internal/serve/web/values_test.go", "TestFormsOfValuesFollowRolesAndEditRights", "it is about pages"},
	"simulated-clusters":      {"../simulated-clusters/main_test.go", "TestRunRegistersFollowsAndReports", "it is about another program"},
}

// TestEveryGuideIsFollowed: a script runs the commands of each guide, or the table says what tests it instead.
func TestEveryGuideIsFollowed(t *testing.T) {
	followed := map[string]bool{}
	for name, script := range pages(t, "testdata/script") {
		opened := regexp.MustCompile(`(?m)^guide (\S+)$`).FindAllStringSubmatch(script, -1)
		for _, guide := range opened {
			followed[guide[1]] = true
		}
		if ends := len(regexp.MustCompile(`(?m)^followed$`).FindAllString(script, -1)); ends != len(opened) {
			t.Errorf("%s follows %d guides, and ends %d with followed", name, len(opened), ends)
		}
	}
	guides := pages(t, "../../docs/how-to")
	for page := range guides {
		name := strings.TrimSuffix(page, ".md")
		if other, listed := notFollowed[name]; followed[name] == listed {
			t.Errorf("%s: followed by a script: %t, tested otherwise: %q; want one of the two", page, followed[name], other.test)
		}
	}
	for name, other := range notFollowed {
		if _, found := guides[name+".md"]; !found || other.why == "" {
			t.Errorf("%s: no such guide, or no reason", name)
		}
		if code, err := os.ReadFile(other.file); err != nil || !strings.Contains(string(code), "func "+other.test+"(") {
			t.Errorf("%s: no %s in %s: %v", name, other.test, other.file, err)
		}
	}
}

// TestTheValuesForKubernetesAreGood: with the values of the guide, the chart passes the checks that others have to pass, and its configuration is one.
func TestTheValuesForKubernetesAreGood(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/run-on-kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("the guide shows no values")
	}
	checkChart(t, string(block[1]))
}

// checkServeConfiguration asks the server about the configuration in the ConfigMap of some manifests.
func checkServeConfiguration(t *testing.T, manifests []byte) {
	t.Helper()
	for _, document := range bytes.Split(manifests, []byte("\n---\n")) {
		var object struct {
			Kind string            `json:"kind"`
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != "ConfigMap" {
			continue
		}
		file := filepath.Join(t.TempDir(), "kalypso.yaml")
		if err := os.WriteFile(file, []byte(object.Data["kalypso.yaml"]), 0o600); err != nil {
			t.Fatal(err)
		}
		var complaints bytes.Buffer
		args := []string{"serve", "--config", file, "--check-config"}
		if code := run(context.Background(), args, []string{"WEBHOOK_SECRET=x"}, nil, io.Discard, &complaints); code != 0 {
			t.Errorf("exit code %d: %s", code, &complaints)
		}
	}
}
