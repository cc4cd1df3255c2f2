package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// ports hands out free ports of 127.0.0.1, each once.
//
// They lie below those that systems give to outgoing connections,
// so that none of these takes one between here and the program that is to listen on it.
type ports struct {
	mu    sync.Mutex
	given map[int]bool
}

const lowestPort, highestPort = 20000, 32000

// next returns an address such as 127.0.0.1:20123.
func (p *ports) next() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given == nil {
		p.given = map[int]bool{}
	}
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if p.given[port] {
			continue
		}
		if listener, err := net.Listen("tcp", address); err == nil {
			p.given[port] = true
			return address, listener.Close()
		}
	}
	return "", errors.New("find a free port: there is none")
}

// take returns n addresses.
func (p *ports) take(n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		var err error
		if addresses[i], err = p.next(); err != nil {
			return nil, fmt.Errorf("find %d free ports: %w", n, err)
		}
	}
	return addresses, nil
}

// portOf returns the port of an address that next returned.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // it is one
	return port
}
