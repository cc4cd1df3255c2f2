package main

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// freePort is the script command that finds an address to serve on:
//
//	freeport NAME    sets the variable NAME to a port that nobody uses
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], port)
}

// patience is how long a script waits for a server, on a machine that has much else to do.
const patience = 3 * time.Minute

// answers is the script command that waits for a server:
//
//	answers URL PATTERN    asks until the page answers with 200, and with something that matches
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answers URL PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		response, err := http.Get(args[0]) //nolint:noctx // a script has no context
		if err != nil {
			last = err.Error()
			continue
		}
		body, err := io.ReadAll(response.Body)
		ts.Check(err)
		ts.Check(response.Body.Close())
		if last = string(body); response.StatusCode == http.StatusOK && pattern.Match(body) {
			return
		}
	}
	ts.Fatalf("%s does not answer %q; the last answer was:\n%s", args[0], args[1], last)
}
