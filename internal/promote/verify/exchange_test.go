package verify

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func TestExchangeWithAProgram(t *testing.T) {
	t.Setenv("KALYPSO_TOKEN", "hunter2")
	r := &Runner{Temp: t.TempDir()}
	for name, tc := range map[string]struct {
		args          []string
		output, wrong string
	}{
		"it repeats its input":   {[]string{"/bin/cat"}, "the input", ""},
		"it does not read":       {[]string{"/bin/echo", "-n", "fine"}, "fine", ""},
		"errors are not output":  {[]string{"/bin/sh", "-c", "echo problem >&2; printf fine"}, "fine", ""},
		"what it finds":          {[]string{"/bin/sh", "-c", "env | grep KALYPSO; ls -A; cat >/dev/null"}, "", ""},
		"it fails":               {[]string{"/bin/sh", "-c", "echo half; echo one >&2; echo two >&2; exit 7"}, "", "sh ended with exit status 7: two"},
		"it is killed":           {[]string{"/bin/sh", "-c", "kill -9 $$"}, "", "sh ended with signal: killed"},
		"it is not there":        {[]string{"/no/such/program"}, "", "run program"},
		"it is relative":         {[]string{"cat"}, "", "full path"},
		"it is nothing":          {nil, "", "full path"},
		"it writes for ever":     {[]string{"/bin/sh", "-c", "while :; do echo line; done"}, "", "too large"},
		"it ignores the pipe":    {[]string{"/bin/sh", "-c", "trap '' PIPE; while :; do echo line 2>/dev/null; done"}, "", "too large"},
		"it leaves a child":      {[]string{"/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 & printf fine"}, "fine", ""},
		"a secret in its errors": {[]string{"/bin/sh", "-c", "echo https://u:hunter2@shop/ >&2; exit 1"}, "", "https://shop/"},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := r.Exchange(t.Context(), tc.args, []byte("the input"), 1000)
			if got := fmt.Sprint(err); string(output) != tc.output || (err == nil) != (tc.wrong == "") || !strings.Contains(got, tc.wrong) || strings.Contains(got, "hunter2") {
				t.Errorf("got %q, %v", output, err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Exchange(ctx, []string{"/bin/sh", "-c", "sleep 60"}, nil, 10); err == nil || !strings.Contains(err.Error(), "did not end in time") {
		t.Errorf("a slow program: %v", err)
	}
	if left, _ := os.ReadDir(r.Temp); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

func TestPost(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization") == "Bearer hunter2")
	})
	mux.HandleFunc("/leak", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization")+"\x1b[31m", http.StatusForbidden)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 2000)) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client is gone
		<-r.Context().Done()
	})
	mux.HandleFunc("/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/away", http.RedirectHandler("/echo", http.StatusTemporaryRedirect))
	for name, tc := range map[string]struct{ url, output, wrong string }{
		"it repeats its input": {server.URL + "/echo", "{}", ""},
		"it gets the token":    {server.URL + "/token", "true", ""},
		"it shows the token":   {server.URL + "/leak", "", "answers 403 Forbidden: Bearer"},
		"it says too much":     {server.URL + "/large", "", "too large"},
		"it is slow":           {server.URL + "/slow", "", "did not answer in time"},
		"it has nothing":       {server.URL + "/nothing", "", "answers 204 No Content"},
		"it leads elsewhere":   {server.URL + "/away", "", "configure the URL that it leads to"},
		"nobody there":         {"http://127.0.0.1:1/", "", "refused"},
		"a password":           {"http://u:hunter2@127.0.0.1/", "", "not a URL without credentials"},
		"a file":               {"file:///etc/passwd", "", "not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 100 * time.Millisecond, false: time.Minute}[name == "it is slow"])
			defer cancel()
			output, err := (&Runner{}).Post(ctx, tc.url, secret.New("hunter2"), []byte("{}"), 1000)
			if got := fmt.Sprint(err); string(output) != tc.output || (err == nil) != (tc.wrong == "") || !strings.Contains(got, tc.wrong) || strings.Contains(got, "hunter2") {
				t.Errorf("got %q, %v", output, err)
			}
		})
	}
}
