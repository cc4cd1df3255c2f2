package outbound_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/known"
)

const token = "tok/en+with=signs&\"16\""

// echo answers with a status and everything that it was sent, in several spellings.
func echo(t *testing.T, status int) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := fmt.Sprint(r.Header, r.URL, string(body))
		if _, password, ok := r.BasicAuth(); ok {
			said += password
		}
		w.Header().Set("X-Said", strings.NewReplacer("\n", " ", "\r", " ").Replace(said))
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "%s %s %s %q", said, url.QueryEscape(said), url.PathEscape(said), said)
	}))
	t.Cleanup(server.Close)
	return server
}

// Whatever a server repeats of a credential, and however the credential is sent, it is hidden.
func TestOwnSecretsAreHidden(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("me:" + token))
	for name, send := range map[string]func(*http.Request) *http.Request{
		"bearer":      func(r *http.Request) *http.Request { r.Header.Set("Authorization", "Bearer "+token); return r },
		"basic":       func(r *http.Request) *http.Request { r.SetBasicAuth("me", token); return r },
		"as the user": func(r *http.Request) *http.Request { r.SetBasicAuth(token, ""); return r },
		"a header":    func(r *http.Request) *http.Request { r.Header.Set("Private-Token", token); return r },
		"the URL": func(r *http.Request) *http.Request {
			r.URL.RawQuery = "access_token=" + url.QueryEscape(token)
			return r
		},
		"the user of the URL": func(r *http.Request) *http.Request {
			r.URL.User = url.UserPassword("me", token)
			return r
		},
		"the body": func(r *http.Request) *http.Request {
			r.Body = io.NopCloser(strings.NewReader(token))
			return r.WithContext(outbound.With(r.Context(), secret.New(token)))
		},
	} {
		for _, status := range []int{http.StatusOK, http.StatusForbidden} {
			server := echo(t, status)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := outbound.New(outbound.Options{}).Do(send(request))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.ContentLength >= 0 && int(answer.ContentLength) != len(body) {
				t.Errorf("%s: the length is %d, want %d", name, len(body), answer.ContentLength)
			}
			all := fmt.Sprint(answer.Status, answer.Header, string(body))
			for _, spelling := range []string{token, url.QueryEscape(token), url.PathEscape(token), strings.Trim(fmt.Sprintf("%q", token), `"`), pair} {
				if strings.Contains(all, spelling) {
					t.Errorf("%s, %d: got %s", name, status, all)
				}
			}
			if !strings.Contains(all, "***") {
				t.Errorf("%s, %d: nothing was hidden in %s", name, status, all)
			}
		}
	}
	if said := known.Hide("sent " + token); said != "sent ***" {
		t.Errorf("in the log: %s", said)
	}
}

// A short password may be a word, such as the name of a branch: content keeps it, and refusals do not show it.
func TestContentKeepsWords(t *testing.T) {
	for status, want := range map[int]bool{200: true, 403: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "refs/heads/release")
		}))
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		request.SetBasicAuth("git", "release")
		answer, err := outbound.New(outbound.Options{}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		if got := string(body) == "refs/heads/release"; got != want {
			t.Errorf("status %d: got %s", status, body)
		}
		server.Close()
	}
}

// roundTripper is a network of a test.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A secret that arrives in pieces is hidden, and nothing is held back that is not the beginning of one.
func TestBodiesInPieces(t *testing.T) {
	text := "data: 1\n\n" + token + token[:5] + token + "data: 2\n\n" + token[:7]
	want := strings.ReplaceAll(text, token, strings.Repeat("*", len(token)))
	for name, body := range map[string]io.Reader{
		"bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
		"the end with the rest": iotest.DataErrReader(strings.NewReader(text)), "at once": strings.NewReader(text),
	} {
		answer := outbound.Hidden(&http.Response{StatusCode: 200, Body: io.NopCloser(body)}, token)
		if got, err := io.ReadAll(answer.Body); string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	broken := errors.New("broken")
	answer := outbound.Hidden(&http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader("x"+token[:9]), iotest.ErrReader(broken)))}, token)
	if got, err := io.ReadAll(answer.Body); string(got) != "x" || !errors.Is(err, broken) {
		t.Errorf("after half of it: got %q, %v", got, err)
	}
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		answer := outbound.Hidden(&http.Response{StatusCode: 200, Body: from}, token)
		go func() { _, _ = io.WriteString(to, "data: 1\n\n") }()
		buffer := make([]byte, 100)
		if n, err := answer.Body.Read(buffer); string(buffer[:n]) != "data: 1\n\n" || err != nil {
			t.Errorf("an event: got %q, %v", buffer[:n], err)
		}
	})
}

// Errors have no credential either, and keep what they are.
func TestErrors(t *testing.T) {
	cause := fmt.Errorf("read %s: %w", token, context.DeadlineExceeded)
	transport := outbound.Through(roundTripper(func(*http.Request) (*http.Response, error) { return nil, cause }))
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.example/", http.NoBody)
	request.Header.Set("Authorization", "Bearer "+token)
	_, err := outbound.Over(transport, outbound.Never).Do(request)
	var failed *url.Error
	if err == nil || strings.Contains(err.Error(), token) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failed) || !failed.Timeout() {
		t.Errorf("got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	defer server.Close()
	for _, address := range []string{
		"http://169.254.169.254/latest", "http://[fe80::1]/", "http://metadata.google.internal/", server.URL + "?to=http://169.254.169.254/latest",
	} {
		var forbidden *outbound.ForbiddenError
		if _, err := get(t, outbound.New(outbound.Options{}), address); !errors.As(err, &forbidden) { //nolint:bodyclose // there is none
			t.Errorf("%s: got %v", address, err)
		}
	}
	only := outbound.Options{Permit: func(host, at string) error { return fmt.Errorf("%s at %s is not permitted", host, at) }}
	if _, err := get(t, outbound.New(only), server.URL); err == nil || !strings.Contains(err.Error(), "127.0.0.1 at 127.0.0.1:") { //nolint:bodyclose // there is none
		t.Errorf("got %v", err)
	}
}

func TestRedirects(t *testing.T) {
	for name, tc := range map[string]struct {
		rule func(*http.Request, []*http.Request) error
		to   string
		want string
	}{
		"never":            {outbound.Never, "https://a.example/b", "302"},
		"stay":             {outbound.Stay, "https://a.example/b", "too often"},
		"stay, elsewhere":  {outbound.Stay, "https://b.example/?token=secret-text", "it leads to https://b.example/, which is elsewhere"},
		"stay, by http":    {outbound.Stay, "http://a.example/", "it leads to http://a.example/, which is elsewhere"},
		"usually":          {nil, "https://b.example/", "too often"},
		"usually, to http": {nil, "http://b.example/", "it leads from https to http://b.example/"},
	} {
		transport := outbound.Through(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {tc.to}}, Body: http.NoBody, Request: r}, nil
		}))
		answer, err := get(t, outbound.Over(transport, tc.rule), "https://a.example/") //nolint:bodyclose // there is none
		got := ""
		if err != nil {
			got = strings.NewReplacer("more than 5 times", "too often", "too many redirects", "too often").Replace(err.Error())
		} else {
			got = fmt.Sprint(answer.StatusCode)
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestSize(t *testing.T) {
	server := echo(t, 200)
	answer, err := get(t, outbound.New(outbound.Options{MaxBody: 10}), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	if _, err := io.ReadAll(answer.Body); !errors.Is(err, outbound.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func get(t *testing.T, client *http.Client, address string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(request)
}
