package transport_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// shelf is a server whose responses have tags. It counts the responses that it sent whole.
type shelf struct {
	*httptest.Server
	body, cache string
	whole       int
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{body: "1"}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf("%q", fmt.Sprint(len(s.body), s.body[:1]))
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", s.cache)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		s.whole++
		w.Header().Set("Link", "<next>")
		_, _ = io.WriteString(w, s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

// get returns the body and what the header says of a response.
func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	ctx := transport.WithOperation(t.Context(), transport.Operation{Name: "list", Conditional: true})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %.9s %s", answer.StatusCode, body, answer.Header.Get("Link"))
}

// TestWhatHasNotChangedIsNotSentAgain reads a response again and again, while it changes once.
func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	s := newShelf(t)
	var calls []string
	c, _ := client(t, s.URL, transport.Config{Observe: func(c transport.Call) { calls = append(calls, fmt.Sprint(c.Result, " ", c.Status)) }})
	var got []string
	for i := range 4 {
		if i == 2 {
			s.body = "2"
		}
		got = append(got, get(t, c, s.URL+"/a"))
	}
	if diff := cmp.Diff([]string{"200 1 <next>", "200 1 <next>", "200 2 <next>", "200 2 <next>"}, got); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ok 200", "unchanged 304", "ok 200", "unchanged 304"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestResponsesStayWithTheirCredential checks that a response to one credential is never used for another one.
func TestResponsesStayWithTheirCredential(t *testing.T) {
	s := newShelf(t)
	token := "ann"
	c, _ := client(t, s.URL, transport.Config{Authorize: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}})
	for _, token = range []string{"ann", "bob", "ann", "bob"} {
		get(t, c, s.URL+"/a")
	}
	if s.whole != 2 {
		t.Errorf("%d responses were sent whole, want one for each credential", s.whole)
	}
}

// TestResponsesAreReadAgainAfterAnHour does not rely on tags for ever, and not at all for requests that are not marked.
func TestResponsesAreReadAgainAfterAnHour(t *testing.T) {
	s := newShelf(t)
	c, clock := client(t, s.URL, transport.Config{})
	for range 3 {
		get(t, c, s.URL+"/a")
		if err := clock.Sleep(t.Context(), 30*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if s.whole != 2 {
		t.Errorf("%d responses were sent whole, want 2", s.whole)
	}
	for range 2 {
		if _, err := do(t, c, http.MethodGet, s.URL+"/a", ""); err != nil {
			t.Fatal(err)
		}
	}
	if s.whole != 4 {
		t.Errorf("%d responses were sent whole, want 4", s.whole)
	}
}

// TestWhatIsNotKept has responses that forges do not want to be kept, that are too large, and that are too many.
func TestWhatIsNotKept(t *testing.T) {
	for name, tc := range map[string]struct {
		body, cache string
		others      int
		want        int
	}{
		"usual":    {"x", "private, max-age=60", 0, 1},
		"no store": {"x", "private, No-Store", 0, 2},
		"large":    {strings.Repeat("x", 512<<10+1), "", 0, 2},
		"some":     {strings.Repeat("x", 512<<10), "", 31, 1 + 31},
		"too many": {strings.Repeat("x", 512<<10), "", 32, 2 + 32},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.body, s.cache = tc.body, tc.cache
			c, _ := client(t, s.URL, transport.Config{})
			get(t, c, s.URL+"/a")
			for i := range tc.others {
				get(t, c, fmt.Sprint(s.URL, "/", i))
			}
			get(t, c, s.URL+"/a")
			if s.whole != tc.want {
				t.Errorf("%d responses were sent whole, want %d", s.whole, tc.want)
			}
		})
	}
}
