package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiver starts a receiver of messages.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: receiver NAME STATUS")
	}
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	file := ts.MkAbs(args[0])
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = os.WriteFile(file, append(body, '\n'), 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		// Some repeat the address, which is a secret.
		http.Error(w, "it was "+r.URL.Path, status)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}
