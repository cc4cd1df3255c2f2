//go:build unix

package wiring

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// admin stores a token of an administrator.
func (w *replicated) admin() secret.Value {
	w.Helper()
	token := access.NewToken(access.Admin)
	err := w.ledger.PutToken(w.Context(), ledger.Token{ID: "test", Hash: access.Hash(token), Role: string(access.Admin), Description: "ann", Created: time.Now()})
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// request sends a request to a replica, with a token if it is not zero.
func (p *process) request(ctx context.Context, client *http.Client, method, path string, token secret.Value, body io.Reader, kind string) *http.Response {
	p.w.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, body)
	if err != nil {
		p.w.Fatal(err)
	}
	if !token.IsZero() {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	response, err := client.Do(r)
	if err != nil {
		p.w.Fatal(err)
	}
	return response
}

// ready reports whether a replica has read the whole fleet, and knows all others.
func (p *process) ready(token secret.Value) bool {
	p.w.Helper()
	response := p.request(p.w.Context(), http.DefaultClient, http.MethodGet, "/readyz", secret.Value{}, nil, "")
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false
	}
	var all struct{ Items []json.RawMessage }
	text := p.w.text(p.request(p.w.Context(), http.DefaultClient, http.MethodGet, "/api/v1/replicas", token, nil, ""), 200)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		p.w.Fatal(err)
	}
	return len(all.Items) == len(p.w.replicas)
}

// text returns the body of a response, whose status must be status.
func (w *replicated) text(response *http.Response, status int) string {
	w.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		w.Fatalf("status %d, want %d: %s, %v", response.StatusCode, status, text, err)
	}
	_ = response.Body.Close()
	return string(text)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)

// anyReplicaAnswers: what a client begins at one replica goes on at another one.
func (w *replicated) anyReplicaAnswers() {
	w.Helper()
	a, b, c := w.replicas[0], w.replicas[1], w.replicas[2]
	tokens, err := w.ledger.Tokens(w.Context())
	if err != nil || len(tokens) != 1 {
		w.Errorf("servers that started together created %d tokens, want one: %v", len(tokens), err)
	}
	token := w.admin()
	for _, p := range w.replicas {
		w.until(p.name+" is ready", func() bool { return p.ready(token) })
	}

	// The form of a, sent to b, leads to a session at c. (The host name has no port in a cookie.)
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := csrfField.FindStringSubmatch(w.text(a.request(w.Context(), browser, http.MethodGet, "/-/sign-in", secret.Value{}, nil, ""), 200))
	if form == nil {
		w.Fatal("no form")
	}
	fields := url.Values{"csrf": {form[1]}, "token": {token.Reveal()}, "to": {"/"}}.Encode()
	w.text(b.request(w.Context(), browser, http.MethodPost, "/-/sign-in", secret.Value{}, strings.NewReader(fields), "application/x-www-form-urlencoded"), 303)
	if text := w.text(c.request(w.Context(), browser, http.MethodGet, "/api/v1/whoami", secret.Value{}, nil, ""), 200); !strings.Contains(text, `"admin"`) {
		w.Errorf("the session of b is not one at c: %s", text)
	}

	// All replicas show all environments.
	for _, p := range w.replicas {
		var environments struct {
			Items []struct{ Environment, Commit, Phase string }
		}
		text := w.text(p.request(w.Context(), http.DefaultClient, http.MethodGet, "/api/v1/environments?limit=1000", token, nil, ""), 200)
		if err := json.Unmarshal([]byte(text), &environments); err != nil {
			w.Fatal(err)
		}
		if len(environments.Items) != w.all() {
			w.Errorf("%s shows %d environments", p.name, len(environments.Items))
		}
	}

	// A command at a is an event at b.
	ctx, cancel := context.WithTimeout(w.Context(), w.patience)
	defer cancel()
	stream := b.request(ctx, http.DefaultClient, http.MethodGet, "/api/v1/events", token, nil, "")
	lines := bufio.NewScanner(stream.Body)
	defer stream.Body.Close() //nolint:errcheck // it is not read to the end
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "id:") {
	}
	w.text(a.request(w.Context(), http.DefaultClient, http.MethodPost, "/api/v1/environments/env-03/pause", token, strings.NewReader(`{"why":"test"}`), "application/json"), 202)
	begun := time.Now()
	for lines.Scan() && !strings.Contains(lines.Text(), `"environment":"env-03"`) {
	}
	if err := lines.Err(); err != nil {
		w.Errorf("no event: %v", err)
	}
	w.Logf("the event took %s", time.Since(begun).Round(time.Millisecond))
	w.text(c.request(w.Context(), http.DefaultClient, http.MethodPost, "/api/v1/environments/env-03/resume", token, strings.NewReader(`{}`), "application/json"), 202)
}
