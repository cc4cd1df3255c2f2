package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
)

// registries are the registries of all scripts, by address.
var registries sync.Map

// imageRegistry is the script command registry.
func imageRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: registry NAME [add REPOSITORY:TAG CONTENT [PLATFORM...] | list | full WRITES]")
	}
	if len(args) == 1 {
		r := remotetest.NewRegistry()
		server := httptest.NewServer(r)
		ts.Defer(server.Close)
		host := strings.TrimPrefix(server.URL, "http://")
		registries.Store(host, r)
		ts.Setenv(args[0], host)
		return
	}
	stored, ok := registries.Load(ts.Getenv(args[0]))
	if !ok {
		ts.Fatalf("no registry %s", args[0])
	}
	r := stored.(*remotetest.Registry)
	switch args[1] {
	case "add":
		repository, tag, _ := strings.Cut(args[2], ":")
		r.AddImage(repository, tag, args[3], args[4:]...)
	case "list":
		fmt.Fprintln(ts.Stdout(), strings.Join(r.List(), "\n"))
	case "full":
		writes, err := strconv.Atoi(args[2])
		ts.Check(err)
		r.FailAfter(writes)
	default:
		ts.Fatalf("unknown argument %q", args[1])
	}
}

// cluster is the script command of that name: an API server with one Kustomization of Flux and its source.
func cluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: cluster KUBECONFIG URL BRANCH PATH @FILE")
	}
	commit := strings.TrimSpace(ts.ReadFile(strings.TrimPrefix(args[4], "@")))
	meta := map[string]any{"name": "platform", "namespace": "flux-system", "resourceVersion": "7", "generation": 1}
	ready := []any{map[string]any{"type": "Ready", "status": "True"}}
	objects := map[string]map[string]any{
		"/apis/source.toolkit.fluxcd.io/v1/gitrepositories": {
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": meta,
			"spec":   map[string]any{"url": args[1], "ref": map[string]any{"branch": args[2]}},
			"status": map[string]any{"conditions": ready},
		},
		"/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations": {
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": meta,
			"spec":   map[string]any{"path": "./" + args[3], "sourceRef": map[string]any{"kind": "GitRepository", "name": "platform"}},
			"status": map[string]any{"lastAppliedRevision": args[2] + "@sha1:" + commit, "conditions": ready},
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveObjects(w, r, objects) }))
	ts.Defer(server.Close)
	kubeconfig := `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}}],` +
		`"clusters":[{"name":"a","cluster":{"server":"` + server.URL + `"}}]}`
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(kubeconfig), 0o600))
}

// serveObjects answers as an API server with one object of each kind.
func serveObjects(w http.ResponseWriter, r *http.Request, objects map[string]map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	write := func(value any) { _ = json.NewEncoder(w).Encode(value) }
	if object, ok := objects[r.URL.Path]; ok {
		if r.URL.Query().Get("watch") == "" {
			write(map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"].(string) + "List", "metadata": map[string]any{"resourceVersion": "7"}, "items": []any{object}})
			return
		}
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			write(map[string]any{"type": "ADDED", "object": object})
			write(map[string]any{"type": "BOOKMARK", "object": map[string]any{
				"apiVersion": object["apiVersion"], "kind": object["kind"],
				"metadata": map[string]any{"resourceVersion": "7", "annotations": map[string]string{"k8s.io/initial-events-end": "true"}},
			}})
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	var resources []any
	for path, object := range objects {
		if resource, ok := strings.CutPrefix(path, r.URL.Path+"/"); ok {
			resources = append(resources, map[string]any{"name": resource, "kind": object["kind"], "namespaced": true})
		}
	}
	if len(resources) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	write(map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.TrimPrefix(r.URL.Path, "/apis/"), "resources": resources})
}
