package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

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
