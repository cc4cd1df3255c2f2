package access

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// maxFailures is how many tokens an address may get wrong at once.
	maxFailures = 20
	// recovery is how long it takes until one of them is forgiven.
	recovery = 3 * time.Second
	// maxAddresses bounds how many addresses are remembered.
	maxAddresses = 10_000
)

// attempts counts what failed lately, by address. The zero value is ready.
// Tokens cannot be guessed; this is about the work and the noise that trying makes.
type attempts struct {
	mu     sync.Mutex
	failed map[string]failures
}

// failures of an address, as of a time; one is forgiven every [recovery].
type failures struct {
	count float64
	at    time.Time
}

func (f failures) left(now time.Time) float64 {
	return max(0, f.count-float64(max(0, now.Sub(f.at)))/float64(recovery))
}

// wait is how long an address has to wait; zero when it may try.
func (a *attempts) wait(address string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	over := a.failed[network(address)].left(now) - (maxFailures - 1)
	if over <= 0 {
		return 0
	}
	return time.Duration(over*float64(recovery)).Round(time.Second) + time.Second
}

func (a *attempts) count(address string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.failed) >= maxAddresses {
		a.forget(now)
	}
	if a.failed == nil {
		a.failed = map[string]failures{}
	}
	key := network(address)
	a.failed[key] = failures{a.failed[key].left(now) + 1, now}
}

// forget drops the addresses that are forgiven, and all of them when that is not enough:
// some attempts too many are better than a memory without end.
func (a *attempts) forget(now time.Time) {
	for key, f := range a.failed {
		if f.left(now) == 0 {
			delete(a.failed, key)
		}
	}
	if len(a.failed) >= maxAddresses {
		clear(a.failed)
	}
}

// network is what counts as one address: of IPv6, what one customer has.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	prefix, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
