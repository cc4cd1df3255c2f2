package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachBranchIsAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet")
	var stdout bytes.Buffer
	err := run([]string{"-targets", "6", "-cluster-types", "1", "-layers", "5", "-out", dir}, &stdout, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "6 assignments") {
		t.Errorf("printed %q", stdout.String())
	}
	want := []string{
		"apps/app-000/main/workload.yaml",
		"apps/app-001/main/workload.yaml",
		"control-plane/dev/cluster-types/east-us/config.yaml",
		"control-plane/dev/cluster-types/east-us/east-us-small-000/cluster-type.yaml",
		"control-plane/dev/cluster-types/east-us/east-us-small-000/config.yaml",
		"control-plane/dev/cluster-types/east-us/small.yaml",
		"control-plane/dev/configs/environment.yaml",
		"control-plane/dev/gitops.yaml",
		"control-plane/dev/main.yaml",
		"control-plane/dev/policies/team-00.yaml",
		"control-plane/dev/policies/team-01.yaml",
		"control-plane/main/.environments/dev.yaml",
		"control-plane/main/configs/app-000.yaml",
		"control-plane/main/configs/app-001.yaml",
		"control-plane/main/templates/configmap.yaml",
		"control-plane/main/templates/flux.yaml",
		"control-plane/main/templates/namespace.yaml",
		"control-plane/main/workloads/app-000.yaml",
		"control-plane/main/workloads/app-001.yaml",
	}
	if diff := cmp.Diff(filesBelow(t, dir), want); diff != "" {
		t.Errorf("files (-got +want):\n%s", diff)
	}
}

func TestWrongUse(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"name the folder":               {},
		"sizes count from 1":            {"-targets", "0", "-out", "x"},
		"is not empty":                  {"-out", full},
		"flag provided but not defined": {"-unknown"},
		`invalid value "many" for flag`: {"-layers", "many"},
	} {
		err := run(args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run(%q) = %v, want an error with %q", args, err, want)
		}
	}
	if diff := cmp.Diff(filesBelow(t, full), []string{"mine.txt"}); diff != "" {
		t.Errorf("a refused run changed files:\n%s", diff)
	}
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
