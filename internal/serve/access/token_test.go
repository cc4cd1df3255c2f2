package access

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var scanned = regexp.MustCompile(`^kal_[robacjs]_[a-z2-7]{58}$`)

func TestTokensLookLikeTokens(t *testing.T) {
	seen := map[string]bool{}
	for _, role := range append(Roles(), Scoped) {
		token := NewToken(role).Reveal()
		if !scanned.MatchString(token) || !wellFormed(token) || seen[token] {
			t.Errorf("%s: the token is %q", role, token)
		}
		seen[token] = true
	}
}

// TestMistypedTokens: any character replaced is noticed, without asking anybody.
func TestMistypedTokens(t *testing.T) {
	token := tokenOf(Operator, [32]byte{1, 2, 3}).Reveal()
	for i := range token {
		for _, c := range []string{"b", "7", "_", "A", "é"} {
			mistyped := token[:i] + c + token[i+1:]
			if mistyped != token && strings.HasPrefix(mistyped, tokenPrefix) && wellFormed(mistyped) {
				t.Errorf("%q is taken for a token", mistyped)
			}
		}
	}
}

func FuzzWellFormed(f *testing.F) {
	f.Add(tokenOf(Admin, [32]byte{}).Reveal())
	f.Add("kal_")
	f.Add("kal_r_" + strings.Repeat("a", 58))
	f.Fuzz(func(t *testing.T, text string) {
		if wellFormed(text) && strings.HasPrefix(text, tokenPrefix) && !regexp.MustCompile(`^kal_._[a-z2-7]{58}$`).MatchString(text) {
			t.Errorf("%q is taken for a token", text)
		}
	})
}

func TestLimiterIsBounded(t *testing.T) {
	l := Limiter{Burst: 1, Every: time.Hour}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 2*maxLimited + 1 {
		l.Take(fmt.Sprint(i), now)
	}
	if len(l.used) > maxLimited {
		t.Errorf("%d keys are remembered", len(l.used))
	}
}

func TestLimiter(t *testing.T) {
	l := Limiter{Burst: 2, Every: time.Second}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i, want := range []time.Duration{0, 0, time.Second, time.Second} {
		if got := l.Take("a", now); got != want {
			t.Errorf("time %d: wait %v, want %v", i, got, want)
		}
	}
	if got := l.Take("b", now); got != 0 {
		t.Errorf("another key: wait %v", got)
	}
	if got := l.Take("a", now.Add(time.Second)); got != 0 {
		t.Errorf("a second later: wait %v", got)
	}
	if got := l.Take("a", now.Add(-time.Hour)); got <= 0 {
		t.Errorf("the clock went back: wait %v", got)
	}
}

func TestNetworks(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:2": "2001:db8::/64",
		"fe80::1%eth0": "fe80::/64", "::ffff:192.0.2.1": "::ffff:192.0.2.1", "": "", "@": "@",
	} {
		if got := network(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c cache
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 2*maxKnown + 1 {
		c.put(fmt.Sprint(i), Identity{}, now, 0)
	}
	if len(c.entries) > maxKnown {
		t.Errorf("%d tokens are remembered", len(c.entries))
	}
}
