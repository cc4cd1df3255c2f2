package access

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var scanned = regexp.MustCompile(`^kal_[roacj]_[a-z2-7]{58}$`)

func TestTokensLookLikeTokens(t *testing.T) {
	seen := map[string]bool{}
	for _, role := range Roles() {
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

func TestAttemptsAreBounded(t *testing.T) {
	var a attempts
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 3 * maxAddresses {
		a.count(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff), now)
	}
	if len(a.failed) > maxAddresses {
		t.Errorf("%d addresses are remembered", len(a.failed))
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
