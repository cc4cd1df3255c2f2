package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// freePort is the script command that finds an address to serve on:
//
//	freeport NAME    sets the variable NAME to a free port
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

// freeAddress finds a free address that no other test is given. Its port is below those that systems give to programs that ask for any
// port: one of them could get it before it is served on.
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
	return "", errors.New("find a free port: all that were tried are taken")
}

// givenAddresses are those that tests of this process were given.
var givenAddresses sync.Map
