package main

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"slices"
	"strings"

	containers "github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// artifacts is the script command of that name.
func artifacts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: artifacts NAME")
	}
	server := httptest.NewServer(containers.New(containers.Logger(log.New(io.Discard, "", 0)), containers.WithReferrersSupport(true)))
	ts.Defer(server.Close)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}

// tamper is the script command of that name: it publishes a version again under another tag, with a text of a file replaced.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 6 {
		ts.Fatalf("usage: tamper FOLDER TAG NEWTAG FILE OLD NEW")
	}
	store, err := registry.Open(nil, registry.Reference{Folder: ts.MkAbs(args[0])}, false)
	ts.Check(err)
	ctx := context.Background()
	found, err := store.Get(ctx, args[1])
	ts.Check(err)
	files := slices.Clone(found.Files)
	i := slices.IndexFunc(files, func(f solution.File) bool { return f.Path == args[3] })
	if i < 0 || !strings.Contains(string(files[i].Content), args[4]) {
		ts.Fatalf("%s has no %q", args[3], args[4])
	}
	files[i].Content = []byte(strings.ReplaceAll(string(files[i].Content), args[4], args[5]))
	forged, err := solution.Seal(found.Descriptor, files)
	ts.Check(err)
	_, err = store.Publish(ctx, forged, []string{args[2]}, "")
	ts.Check(err)
}
