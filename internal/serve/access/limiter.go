package access

import (
	"net/netip"
	"sync"
	"time"
)

// maxLimited bounds how many keys a limiter remembers.
const maxLimited = 20_000

// Limiter bounds how often something happens, by key. It is safe for concurrent use and must not be copied.
type Limiter struct {
	// Burst is how often it may happen at once. // required
	Burst int
	// Every is how long it takes until it may happen once more. // required
	Every time.Duration

	mu   sync.Mutex
	used map[string]usage
}

// usage is how much of the burst was used up, as of a time.
type usage struct {
	count float64
	at    time.Time
}

func (l *Limiter) left(u usage, now time.Time) float64 {
	return max(0, u.count-float64(max(0, now.Sub(u.at)))/float64(l.Every))
}

// Wait is how long it has to wait; zero when it may happen.
func (l *Limiter) Wait(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait(key, now)
}

func (l *Limiter) wait(key string, now time.Time) time.Duration {
	over := l.left(l.used[key], now) - float64(l.Burst-1)
	if over <= 0 {
		return 0
	}
	return time.Duration(over * float64(l.Every))
}

// Count says that it happened.
func (l *Limiter) Count(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(key, now)
}

func (l *Limiter) count(key string, now time.Time) {
	if _, ok := l.used[key]; !ok && len(l.used) >= maxLimited {
		l.forget(now)
	}
	if l.used == nil {
		l.used = map[string]usage{}
	}
	l.used[key] = usage{l.left(l.used[key], now) + 1, now}
}

// Take counts it when it may happen, and says how long it has to wait otherwise.
func (l *Limiter) Take(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := l.wait(key, now); wait > 0 {
		return wait
	}
	l.count(key, now)
	return 0
}

// forget drops the keys that may do everything again, and all of them when that is not enough:
// a little too much is better than a memory without end.
func (l *Limiter) forget(now time.Time) {
	for key, u := range l.used {
		if l.left(u, now) == 0 {
			delete(l.used, key)
		}
	}
	if len(l.used) >= maxLimited {
		clear(l.used)
	}
}

const (
	// maxFailures is how many tokens an address may get wrong at once.
	maxFailures = 20
	// recovery is how long it takes until one of them is forgiven.
	recovery = 3 * time.Second
)

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
