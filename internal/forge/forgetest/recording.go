package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Recording sends requests to a real forge and records the exchanges. Of each operation and status, it keeps one, and of it what the
// description names. It holds no header, and no secret.
type Recording struct {
	Published *Published // required
	// Secrets are replaced wherever they occur.
	Secrets []forge.Secret
	// Names alternates texts that are replaced, and those instead.
	Names []string

	mu   sync.Mutex
	kept map[string]Exchange
}

// RoundTrip sends a request. It is for [transport.Config].
func (r *Recording) RoundTrip(request *http.Request) (*http.Response, error) {
	e := Exchange{Method: request.Method, Path: request.URL.EscapedPath(), Query: request.URL.Query()}
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		e.Body = body
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	e.Status, e.Response = answer.StatusCode, body
	r.keep(e)
	return answer, nil
}

// keep keeps the first exchange of an operation and status.
func (r *Recording) keep(e Exchange) {
	o := r.Published.operation(e)
	key := fmt.Sprintf("%s %s %d", e.Method, e.Path, e.Status) // shows what the description lacks
	if o != nil {
		key = fmt.Sprintf("%s %s %d", o.method, o.path, e.Status)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.kept[key]; known {
		return
	}
	if r.kept == nil {
		r.kept = map[string]Exchange{}
	}
	r.kept[key] = r.Published.reduce(e, o)
}

// Text returns the exchanges, one per line, in the order of their operations.
func (r *Recording) Text() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for key := range r.kept {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		line, err := json.Marshal(r.kept[key])
		if err != nil {
			return "", err
		}
		b.Write(append(line, '\n'))
	}
	text := b.String()
	for _, s := range r.Secrets {
		if !s.IsZero() {
			text = strings.ReplaceAll(text, s.Reveal(), "***")
		}
	}
	return strings.NewReplacer(r.Names...).Replace(text), nil
}

// CheckRecording fails a test for what a real forge answered and the description does not say.
func CheckRecording(t *testing.T, published, recorded string) {
	t.Helper()
	p, err := ParsePublished(published)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(recorded) {
		var e Exchange
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, problem := range p.Check(e, true) {
			t.Errorf("the real forge differs: %s", problem)
		}
	}
}

// reduce returns an exchange without what the description does not name. Of an operation that it does not document, nothing is left.
func (p *Published) reduce(e Exchange, o *operation) Exchange {
	answer, body := e.Response, e.Body
	e.Response, e.Body = nil, nil
	if o == nil {
		return e
	}
	e.Body = p.reduceJSON(o.body, body, true)
	described, known := o.answers[e.Status]
	if !known && e.Status >= 400 {
		described = p.refusal
	}
	e.Response = p.reduceJSON(described, answer, false)
	return e
}

func (p *Published) reduceJSON(s *shape, text []byte, sent bool) json.RawMessage {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if s == nil || decoder.Decode(&value) != nil {
		return nil
	}
	reduced, err := json.Marshal(p.reduceValue(s, value, sent))
	if err != nil {
		return nil
	}
	return reduced
}

// hidden are the fields whose values are secrets.
var hidden = []string{"secret", "token", "signing_token", "basicAuthPassword"}

// reduceValue returns a value without fields that are not described; of what we sent, all fields, so that the check finds them.
func (p *Published) reduceValue(s *shape, value any, sent bool) any {
	for s != nil && s.kind == "name" {
		s = p.shapes[s.name]
	}
	switch v := value.(type) {
	case map[string]any:
		reduced := map[string]any{}
		for name, field := range v {
			var of *shape
			if s != nil && s.kind == "object" {
				if of = s.fields[name]; of == nil {
					of = s.fields["*"]
				}
			}
			switch {
			case slices.Contains(hidden, name):
				reduced[name] = "***"
			case of != nil || sent:
				reduced[name] = p.reduceValue(of, field, sent)
			}
		}
		return reduced
	case []any:
		var of *shape
		if s != nil {
			of = s.element
		}
		reduced := []any{}
		for _, element := range v[:min(len(v), 2)] { // two show as much as hundred
			reduced = append(reduced, p.reduceValue(of, element, sent))
		}
		return reduced
	}
	return value
}
