package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

const (
	maxSize     = 25 << 20 // bytes of the program
	maxResident = 32 << 20 // bytes in memory, with as many reconcilers as reconcilers says
	reconcilers = 50
)

// build builds the program as releases do.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kalypso-agent")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestSmall holds the size of the program, and what it needs in memory while it watches reconcilers.
func TestSmall(t *testing.T) {
	t.Parallel()
	program := build(t)
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the program has %.1f MB", float64(info.Size())/(1<<20))
	if info.Size() > maxSize {
		t.Errorf("the program has %d bytes, want at most %d: look for what it imports with go list -deps", info.Size(), maxSize)
	}
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	batches := make(chan hub.ReportBatch)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var batch hub.ReportBatch
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			err = json.NewDecoder(z).Decode(&batch)
		}
		if err != nil {
			t.Error(err)
		}
		select {
		case batches <- batch:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), program, "--server", server.URL, "--token-file", token, "--kubeconfig", cluster(t, dir),
		"--cluster", "large-07", "--state-dir", filepath.Join(dir, "state"), "--interval", "1s")
	agent.Stderr = t.Output()
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	for reported := 0; reported < reconcilers; {
		reported += len((<-batches).Reports)
	}
	for range 2 {
		if n := len((<-batches).Reports); n != 0 {
			t.Errorf("%d reports though nothing changed", n)
		}
	}
	resident := peak(t, agent.Process.Pid)
	t.Logf("it needs %.1f MB in memory for %d reconcilers", float64(resident)/(1<<20), reconcilers)
	if resident > maxResident {
		t.Errorf("it needs %d bytes in memory for %d reconcilers, want at most %d", resident, reconcilers, maxResident)
	}
	if err := agent.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := agent.Wait(); err != nil {
		t.Error(err)
	}
}

// peak returns the most memory that a process had resident, in bytes.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kilobytes, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(line, "kB")))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, status)
	}
	return kilobytes << 10
}

// cluster is an API server with a GitRepository and Kustomizations of Flux, each with as many managed fields as real ones. It returns a kubeconfig.
func cluster(t *testing.T, dir string) string {
	t.Helper()
	kinds := map[string]struct {
		kind  string
		items []string
	}{
		"/apis/source.toolkit.fluxcd.io/v1/gitrepositories":   {"GitRepository", []string{gitRepository}},
		"/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations": {"Kustomization", kustomizations()},
		"/apis/source.toolkit.fluxcd.io/v1/ocirepositories":   {"OCIRepository", nil},
		"/apis/source.toolkit.fluxcd.io/v1/helmrepositories":  {"HelmRepository", nil},
		"/apis/helm.toolkit.fluxcd.io/v2/helmreleases":        {"HelmRelease", nil},
		"/apis/argoproj.io/v1alpha1/applications":             {"Application", nil},
		"/apis/fleet.cattle.io/v1alpha1/gitrepos":             {"GitRepo", nil},
		"/apis/fleet.cattle.io/v1alpha1/bundles":              {"Bundle", nil},
		"/apis/fleet.cattle.io/v1alpha1/bundledeployments":    {"BundleDeployment", nil},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		group := strings.TrimPrefix(filepath.Dir(r.URL.Path), "/apis/")
		k, ok := kinds[r.URL.Path]
		switch {
		case !ok:
			var resources []string
			for path, k := range kinds {
				if filepath.Dir(path) == r.URL.Path {
					resources = append(resources, fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":true}`, filepath.Base(path), k.kind))
				}
			}
			fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","resources":[%s]}`, strings.Join(resources, ","))
		case r.URL.Query().Get("sendInitialEvents") == "true":
			// Like an API server that does not stream lists.
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case r.URL.Query().Get("watch") == "":
			// One page of a list, as long as the agent wants it.
			from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
			if err != nil {
				t.Errorf("a list without a limit: %v", err)
			}
			to, more := min(from+limit, len(k.items)), ""
			if to < len(k.items) {
				more = strconv.Itoa(to)
			}
			fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`,
				group, k.kind+"List", more, strings.Join(k.items[from:to], ","))
		default:
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}}],` +
		`"clusters":[{"name":"a","cluster":{"server":"` + server.URL + `"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

const gitRepository = `{"apiVersion":"source.toolkit.fluxcd.io/v1","kind":"GitRepository",` +
	`"metadata":{"name":"platform","namespace":"flux-system","resourceVersion":"7","generation":1},` +
	`"spec":{"url":"https://example.com/gitops","ref":{"branch":"dev"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`

func kustomizations() []string {
	managed := strings.TrimSuffix(strings.Repeat(`{"manager":"kustomize-controller","operation":"Update","apiVersion":"kustomize.toolkit.fluxcd.io/v1",`+
		`"time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{},"f:inventory":{"f:entries":{}}}}},`, 4), ",")
	entries := strings.TrimSuffix(strings.Repeat(`{"id":"team-a_some-configuration_apps_Deployment","v":"v1"},`, 40), ",")
	all := make([]string, reconcilers)
	for i := range all {
		all[i] = fmt.Sprintf(`{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization",`+
			`"metadata":{"name":"app-%02d","namespace":"flux-system","resourceVersion":"7","generation":1,"managedFields":[%s]},`+
			`"spec":{"path":"./large/app-%02d","sourceRef":{"kind":"GitRepository","name":"platform"}},`+
			`"status":{"lastAppliedRevision":"dev@sha1:1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1","inventory":{"entries":[%s]},`+
			`"conditions":[{"type":"Ready","status":"True"}]}}`, i, managed, i, entries)
	}
	return all
}
