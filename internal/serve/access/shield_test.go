package access_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

func serve(h http.HandlerFunc, log io.Writer, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	(&access.Shield{Next: h, Log: slog.New(slog.NewTextHandler(log, nil))}).ServeHTTP(w, r)
	return w
}

func TestRequestID(t *testing.T) {
	for given, kept := range map[string]bool{
		"": false, "0123-abc.DEF_4": true, "two lines\nlevel=ERROR": false, strings.Repeat("x", 65): false, "é": false,
	} {
		r := request("")
		r.Header["X-Request-Id"] = []string{given}
		var inside string
		w := serve(func(_ http.ResponseWriter, r *http.Request) { inside = access.RequestID(r.Context()) }, io.Discard, r)
		got := w.Header().Get("X-Request-Id")
		if got == "" || got != inside || (got == given) != kept {
			t.Errorf("%q: got %q outside and %q inside", given, got, inside)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	w := serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, io.Discard, request(""))
	for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Content-Security-Policy"} {
		if w.Header().Get(name) == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestPanicIsSurvived(t *testing.T) {
	var log bytes.Buffer
	r := request("kal_a_secretsecretsecret")
	r.URL.Path = "/a\nlevel=ERROR msg=forged"
	w := serve(func(http.ResponseWriter, *http.Request) { panic("with kal_a_secretsecretsecret in it") }, &log, r)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("got %d: %s", w.Code, w.Body)
	}
	if text := log.String(); strings.Contains(text, "secretsecret") || strings.Contains(text, "\nlevel=ERROR msg=forged") ||
		!strings.Contains(text, w.Header().Get("X-Request-Id")) {
		t.Errorf("logged: %s", text)
	}
}

// TestPanicAfterTheBeginning: the connection is cut, since what was sent looks whole otherwise.
func TestPanicAfterTheBeginning(t *testing.T) {
	h := &access.Shield{Log: slog.New(slog.DiscardHandler), Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "[1, 2,")
		panic("halfway")
	})}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	defer s.Close()
	response, err := s.Client().Get(s.URL)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("the answer looks whole")
	}
}
