package resourcegraph_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/resourcegraph"
	"github.com/kalypso-io/kalypso/internal/hub/resourcegraph/resourcegraphtest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var (
	noon   = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	commit = strings.Repeat("c0ffee1234", 4)
)

// clock is a clock that does not wait. One request runs at a time.
type clock struct {
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	c.now, c.slept = c.now.Add(d), append(c.slept, d)
	return nil
}

func known(text string) func() (secret.Value, error) {
	return func() (secret.Value, error) { return secret.New(text), nil }
}

func withSecret() resourcegraph.Identity {
	return resourcegraph.Identity{Tenant: resourcegraphtest.Tenant, Client: resourcegraphtest.Client, Secret: known(resourcegraphtest.Secret)}
}

// newClient returns a client of a server, and its clock.
func newClient(t *testing.T, server *resourcegraphtest.Server, identity resourcegraph.Identity) (*resourcegraph.Client, *clock) {
	t.Helper()
	at := &clock{now: noon}
	c, err := resourcegraph.New(resourcegraph.Options{
		Subscriptions: []string{resourcegraphtest.Subscription}, Endpoint: server.URL, Login: server.URL, Identity: identity, Clock: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, at
}

func platform(cluster string) string {
	return resourcegraphtest.Platform(cluster, "https://git.example.com/platform", "dev", "./large", commit, "2026-11-20T11:59:00Z")
}

// read reads everything, and checks that no credential is in an error.
func read(t *testing.T, c *resourcegraph.Client) ([]string, []resourcegraph.Problem, error) {
	t.Helper()
	all, problems, err := c.Read(t.Context())
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a credential is in the error: %v", err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Cluster[strings.LastIndex(one.Cluster, "/")+1:])
	}
	return names, problems, err
}

func TestAllPagesAreReadWithOneToken(t *testing.T) {
	server := resourcegraphtest.New(t)
	server.SetRows(platform("a"), platform("b"), platform("c"), platform("d"), platform("e"))
	server.SetPageSize(2)
	for name, identity := range map[string]resourcegraph.Identity{
		"secret":    withSecret(),
		"federated": {Tenant: resourcegraphtest.Tenant, Client: resourcegraphtest.Client, Federated: known(resourcegraphtest.Assertion)},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, queries := server.Counts()
			c, _ := newClient(t, server, identity)
			for range 2 {
				names, problems, err := read(t, c)
				if err != nil || len(problems) > 0 || !slices.Equal(names, []string{"a", "b", "c", "d", "e"}) {
					t.Fatalf("got %v, %v, %v, want five clusters", names, problems, err)
				}
			}
			if tokensNow, queriesNow := server.Counts(); tokensNow != tokens+1 || queriesNow != queries+6 {
				t.Errorf("got %d tokens and %d queries, want 1 and 6", tokensNow-tokens, queriesNow-queries)
			}
		})
	}
}

func TestATokenIsReplaced(t *testing.T) {
	server := resourcegraphtest.New(t)
	server.SetRows(platform("a"))
	c, at := newClient(t, server, withSecret())
	for i, change := range []func(){
		func() {},
		server.ExpireTokens,
		func() { _ = at.Sleep(t.Context(), 56*time.Minute) },
	} {
		change()
		if _, _, err := read(t, c); err != nil {
			t.Fatal(err)
		}
		if tokens, _ := server.Counts(); tokens != i+1 {
			t.Errorf("step %d: got %d tokens, want %d", i, tokens, i+1)
		}
	}
	server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true })
	if _, _, err := read(t, c); err == nil || !strings.Contains(err.Error(), "status 401; the token was not accepted") {
		t.Errorf("got %v, want that the token is not accepted, and no endless attempts", err)
	}
}

func TestThrottlingIsRespected(t *testing.T) {
	for _, test := range []struct {
		name string
		// first is the answer to the first query, before the usual one.
		first func(w http.ResponseWriter) bool
		slept time.Duration
		err   string
	}{
		{"retry after", func(w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, 7 * time.Second, ""},
		{"quota", func(w http.ResponseWriter) bool {
			w.Header().Set("X-Ms-User-Quota-Remaining", "0")
			w.Header().Set("X-Ms-User-Quota-Resets-After", "00:00:04")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, 4 * time.Second, ""},
		{"the last of the quota", func(w http.ResponseWriter) bool {
			w.Header().Set("X-Ms-User-Quota-Remaining", "0")
			w.Header().Set("X-Ms-User-Quota-Resets-After", "00:00:03")
			fmt.Fprintf(w, `{"data":[%s],"$skipToken":"after-1"}`, platform("a"))
			return true
		}, 3 * time.Second, ""},
		{"longer than a read may take", func(w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, 0, "rate limited"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := resourcegraphtest.New(t)
			server.SetRows(platform("a"), platform("b"))
			c, at := newClient(t, server, withSecret())
			begun := false
			server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				first := !begun
				begun = true
				return first && test.first(w)
			})
			names, _, err := read(t, c)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, %v, want %q", names, err, test.err)
				}
				return
			}
			if err != nil || !slices.Equal(names, []string{"a", "b"}) {
				t.Errorf("got %v, %v, want both", names, err)
			}
			var slept time.Duration
			for _, s := range at.slept {
				slept += s
			}
			if slept < test.slept || slept > test.slept+2*time.Second {
				t.Errorf("slept %v, want %v", at.slept, test.slept)
			}
		})
	}
}

func TestTokensDoNotFollowRedirects(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	server := resourcegraphtest.New(t)
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, other.URL+"/elsewhere", http.StatusTemporaryRedirect)
		return true
	})
	c, _ := newClient(t, server, withSecret())
	_, _, err := read(t, c)
	if err == nil || !strings.Contains(err.Error(), "status 307; redirects are not followed") || len(got) > 0 {
		t.Errorf("got %v, and the other host %q, want an error and no request", err, got)
	}
}

// An answer that is not what it should be gives an error, and no part of a result.
func TestHostileAnswers(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"no JSON", "<html>hunter2</html>", "not a page"},
		{"truncated", `{"data":[` + platform("a"), "not a page"},
		{"a table", `{"data":{"columns":[],"rows":[]}}`, "not a page"},
		{"no data", `{"count":0}`, "no data"},
		{"data of null", `{"data":null}`, "no data"},
		{"cut", `{"data":[],"resultTruncated":"true"}`, "is cut"},
		{"a loop", `{"data":[],"$skipToken":"again"}`, "repeat"},
		{"huge", `{"data":["` + strings.Repeat("x", 33<<20) + `"]}`, "too large"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := resourcegraphtest.New(t)
			server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(test.body)); return true })
			c, _ := newClient(t, server, withSecret())
			if names, _, err := read(t, c); err == nil || !strings.Contains(err.Error(), test.want) || names != nil {
				t.Errorf("got %v, %.300v, want an error with %q", names, err, test.want)
			}
		})
	}
}

func TestPagesThatNeverEnd(t *testing.T) {
	server := resourcegraphtest.New(t)
	n := 0
	server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		n++
		fmt.Fprintf(w, `{"data":[],"$skipToken":"%d"}`, n)
		return true
	})
	c, _ := newClient(t, server, withSecret())
	if _, _, err := read(t, c); err == nil || !strings.Contains(err.Error(), "more than 500 pages") {
		t.Errorf("got %v, want a limit", err)
	}
}

func TestOneObjectDoesNotAffectOthers(t *testing.T) {
	server := resourcegraphtest.New(t)
	id := resourcegraphtest.ClusterID("b") + "/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/platform"
	server.SetRows(`7`, `{"id":"/subscriptions/x"}`, `{"id":"`+id+`","properties":{"statuses":"hunter2"}}`, `{"id":"`+id+`"}`, platform("a"))
	c, _ := newClient(t, server, withSecret())
	names, problems, err := read(t, c)
	if err != nil || !slices.Equal(names, []string{"a"}) {
		t.Fatalf("got %v, %v, want a", names, err)
	}
	want := []string{
		"a Flux configuration has no ID",
		"a Flux configuration has an ID that is not one of a cluster",
		strings.ToLower(id) + ": its properties cannot be read: statuses has the wrong type",
		strings.ToLower(id) + ": its properties cannot be read: a field has the wrong form",
	}
	for i, p := range problems {
		if i >= len(want) || p.String() != want[i] {
			t.Errorf("got problem %q, want %q", p, want[min(i, len(want)-1)])
		}
	}
	if len(problems) != len(want) {
		t.Errorf("got %d problems, want %d", len(problems), len(want))
	}
}

func TestWhatMicrosoftEntraIDRefuses(t *testing.T) {
	server := resourcegraphtest.New(t)
	wrong := withSecret()
	wrong.Secret = known("hunter2-old")
	missing := withSecret()
	missing.Secret = func() (secret.Value, error) { return secret.Value{}, errors.New("read the file") }
	elsewhere := withSecret()
	elsewhere.Tenant = "../../hunt"
	for _, test := range []struct {
		name     string
		identity resourcegraph.Identity
		want     string
	}{
		{"wrong secret", wrong, "read Azure Resource Graph: get a token of Microsoft Entra ID: status 401 invalid_client AADSTS7000215"},
		{"no secret", missing, "read Azure Resource Graph: get a token of Microsoft Entra ID: read the file"},
		{"another tenant", elsewhere, "read Azure Resource Graph: get a token of Microsoft Entra ID: status 404"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := newClient(t, server, test.identity)
			if _, _, err := read(t, c); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCredentialsAreSentByHTTPSOnly(t *testing.T) {
	for _, address := range []string{"http://management.azure.com", "https://user:hunter2@management.azure.com", "management.azure.com"} {
		if _, err := resourcegraph.New(resourcegraph.Options{Endpoint: address}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want a refusal", address, err)
		}
	}
}
