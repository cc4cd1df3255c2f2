package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTheGuideForExistingApplications runs the commands of the guide, one after the other, in a repository with a chart, a kustomization for
// each environment, and plain manifests. Before each "init app", it removes what the one before it wrote, as the guide says.
func TestTheGuideForExistingApplications(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/onboard-an-existing-application.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "shop")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\nspec: {containers: [{name: shop,\n  image: registry.example.com/acme/backend:1.0.0}]}\n"
	for name, content := range map[string]string{
		"deploy/helm/Chart.yaml":                   "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
		"deploy/helm/templates/pod.yaml":           pod,
		"deploy/base/pod.yaml":                     pod,
		"deploy/base/kustomization.yaml":           "resources: [pod.yaml]\n",
		"deploy/overlays/dev/kustomization.yaml":   "resources: [../../base]\n",
		"deploy/overlays/stage/kustomization.yaml": "resources: [../../base]\n",
		"k8s/pod.yaml":                             pod,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := []string{"git init -q", "git config user.name Ann", "git config user.email ann@example.com", "git add -A", "git commit -q -m before"}
	for _, m := range regexp.MustCompile(`(?m)^    ((?:kalypso|git) .*)$`).FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, m[1])
	}
	if len(commands) < 8 {
		t.Fatalf("only %d commands found in the guide", len(commands))
	}
	env := storyEnvironment(t)
	for _, command := range commands {
		if strings.HasPrefix(command, "kalypso init") {
			if err := os.RemoveAll(filepath.Join(dir, "workload")); err != nil {
				t.Fatal(err)
			}
		}
		shell := exec.Command("sh", "-c", command)
		shell.Dir, shell.Env = dir, env
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		if strings.HasSuffix(command, "--image-tag 1.4.0") && !strings.Contains(string(out), "acme/backend:1.4.0") {
			t.Errorf("%s: no manifest has the image:\n%s", command, out)
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
