package access

import (
	"net/netip"
	"sync"
	"time"
)

// maxLimited limits the keys of a limiter.
const maxLimited = 20_000

// Limiter limits the rate of events, by key. It is safe for concurrent use and must not be copied.
type Limiter struct {
	// Burst is how many events are allowed at once. // required
	Burst int
	// Every is the time until another event is allowed. // required
	Every time.Duration

	mu   sync.Mutex
	used map[string]usage
}

// usage is how much of the burst was used at a time.
type usage struct {
	count float64
	at    time.Time
}

func (l *Limiter) left(u usage, now time.Time) float64 {
	return max(0, u.count-float64(max(0, now.Sub(u.at)))/float64(l.Every))
}

// Wait returns the time until the next event is allowed; zero if it is now.
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

func (l *Limiter) count(key string, now time.Time) {
	if _, ok := l.used[key]; !ok && len(l.used) >= maxLimited {
		l.forget(now)
	}
	if l.used == nil {
		l.used = map[string]usage{}
	}
	l.used[key] = usage{l.left(l.used[key], now) + 1, now}
}

// Take counts an event if it is allowed, and otherwise returns the time until it is.
func (l *Limiter) Take(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := l.wait(key, now); wait > 0 {
		return wait
	}
	l.count(key, now)
	return 0
}

// forget removes unused keys, and all if that is not enough: too many events are better than unlimited memory.
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
	// maxFailures is how many invalid tokens an address may send at once.
	maxFailures = 20
	// recovery is the time until one of them is forgiven.
	recovery = 3 * time.Second
)

// network returns the key of an address; for IPv6, its /64 network.
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
