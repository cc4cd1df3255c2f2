package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"sync"
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
	address, err := freeAddress()
	ts.Check(err)
	_, port, err := net.SplitHostPort(address)
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// freeAddress finds an address that nobody listens on, and that no other test is given. Its port is below those that systems give
// to whoever asks for any: many do so at the same time, and one of them could get it before it is served on.
func freeAddress() (string, error) {
	const lowest, ports = 10_000, 20_000
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(ports))
		if _, taken := givenAddresses.LoadOrStore(address, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("find a port that nobody listens on: all that were tried are taken")
}

// givenAddresses are those that tests of this process were given.
var givenAddresses sync.Map

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

// tells is the script command that asks until it is told: what one page of a server shows, others may show a moment later.
//
//	tells PATTERN PROGRAM [ARGS...]    runs a program until it ends well and prints what matches
func tells(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tells PATTERN PROGRAM [ARGS...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s does not tell %q", args[1], args[0])
}
