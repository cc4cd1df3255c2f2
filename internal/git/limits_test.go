package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// dripping answers two bytes at a time, one request after the other, until the client gives up. It counts requests.
func dripping(t *testing.T) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		text := "001e# service=git-upload-pack\n0000" + strings.Repeat("004200000000000000000000000000000000000000000", 1000)
		for len(text) > 2 {
			if _, err := io.WriteString(w, text[:2]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			text = text[2:]
			select {
			case <-r.Context().Done():
				return
			case <-ticks.C:
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func limitedClient(t *testing.T, l Limits) *Client {
	t.Helper()
	c := &Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }, Limits: l}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func tryResolve(t *testing.T, c *Client, url string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // fails the test instead of hanging
	defer cancel()
	r, err := c.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Resolve(ctx, "main", "")
	return err
}

func TestADrippingServerIsGivenUpAndLeftAlone(t *testing.T) {
	url, requests := dripping(t)
	c := limitedClient(t, Limits{Answer: 200 * time.Millisecond})
	first := tryResolve(t, c, url+"/a")
	if !errors.Is(first, ErrUnavailable) || !strings.Contains(first.Error(), url+"/a") || !strings.Contains(first.Error(), "did not answer within 200ms") {
		t.Fatalf("error: %v", first)
	}
	asked := requests.Load()
	if again := tryResolve(t, c, url+"/a"); again == nil || again.Error() != first.Error() || requests.Load() != asked {
		t.Errorf("it was asked again, or the error is another one: %v", again)
	}
	if u := c.Unavailable(); len(u) != 1 || u[0].Repository != url+"/a" || u[0].Since.IsZero() || u[0].Err == nil {
		t.Errorf("unavailable: %v", u)
	}

	for _, name := range []string{"/b", "/c"} {
		_ = tryResolve(t, c, url+name)
	}
	asked = requests.Load()
	if err := tryResolve(t, c, url+"/d"); !errors.Is(err, ErrUnavailable) || requests.Load() != asked {
		t.Errorf("three repositories of the host were slow, and the fourth was asked: %v", err)
	}
}

// TestAServerIsAskedAgainAfterThePause also shows that a repository that was read is no longer listed.
func TestAServerIsAskedAgainAfterThePause(t *testing.T) {
	s := newServer(t)
	s.open.Store(true)
	_, url := s.publish("a.git", map[string]string{"a": "1"})
	var hangs atomic.Bool
	hangs.Store(true)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			<-r.Context().Done()
			return
		}
		s.http.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	url = strings.Replace(url, s.http.URL, front.URL, 1)
	c := limitedClient(t, Limits{Answer: 200 * time.Millisecond, Pause: time.Millisecond})
	if err := tryResolve(t, c, url); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("error: %v", err)
	}
	hangs.Store(false)
	c.Limits.Answer = 5 * time.Minute
	deadline := time.Now().Add(5 * time.Minute)
	for tryResolve(t, c, url) != nil {
		if time.Now().After(deadline) {
			t.Fatal("it is not asked again")
		}
	}
	if u := c.Unavailable(); len(u) != 0 {
		t.Errorf("unavailable: %v", u)
	}
}

// slowPacks serves repositories whose packs stop after some bytes, for as long as the client waits.
func slowPacks(t *testing.T, s *server, after int) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			answer := httptest.NewRecorder()
			s.http.Config.Handler.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = w.Write(answer.Body.Bytes()[:min(after, answer.Body.Len())])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		s.http.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func TestAPackThatDoesNotEndIsGivenUp(t *testing.T) {
	s := newServer(t)
	s.open.Store(true)
	noise := make([]byte, 300_000) // does not compress, and needs several packets
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	s.publish("a.git", map[string]string{"noise": string(noise)})
	for name, tt := range map[string]struct {
		limits Limits
		after  int
		want   string
	}{
		"nothing":  {Limits{Stall: 50 * time.Millisecond}, 0, "it sent nothing for 200ms"},
		"stalls":   {Limits{Stall: 100 * time.Millisecond}, 150_000, "it sent less than 1024 bytes per second for 100ms"},
		"too long": {Limits{Transfer: 200 * time.Millisecond}, 2000, "it did not send everything within 200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			url := slowPacks(t, s, tt.after)
			err := tryResolve(t, limitedClient(t, tt.limits), url+"/a.git")
			for name == "stalls" && strings.Contains(err.Error(), "it sent nothing") && tt.limits.Stall < time.Minute { // the machine is slow
				was := tt.limits.Stall
				tt.limits.Stall *= 2
				tt.want = strings.Replace(tt.want, was.String(), tt.limits.Stall.String(), 1)
				err = tryResolve(t, limitedClient(t, tt.limits), url+"/a.git")
			}
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), url) {
				t.Errorf("error: %v", err)
			}
		})
	}
}

func TestASlowReadHoldsUpOthersOnlySoLong(t *testing.T) {
	s := newServer(t)
	s.open.Store(true)
	s.publish("a.git", map[string]string{"a": "1"})
	url := slowPacks(t, s, 10) + "/a.git"
	c := limitedClient(t, Limits{Wait: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	c.Progress = func(line string) {
		if strings.HasPrefix(line, "fetching") {
			begin()
		}
	}
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // on a busy machine, a lock that is free can take longer than the limit, too
			if r, err := c.Open(ctx, url); err == nil {
				_, _ = r.Resolve(ctx, "main", "")
			}
		}
	}()
	<-begun
	if err := tryResolve(t, c, url); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "already") {
		t.Errorf("error: %v", err)
	}
	cancel()
	<-ended
}

func TestWhatAServerSendsIsBounded(t *testing.T) {
	s := newServer(t)
	s.open.Store(true)
	made, url := s.publish("a.git", map[string]string{"a": strings.Repeat("0123456789", 100)})
	for i := range 50 {
		made.git("update-ref", fmt.Sprintf("refs/tags/t%d", i), "HEAD")
	}
	made.git("push", "-q", "--tags", "origin")
	for name, l := range map[string]Limits{"references": {References: 1000}, "pack": {Pack: 50}} {
		err := tryResolve(t, limitedClient(t, l), url)
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tryResolve(t, limitedClient(t, Limits{}), url); err != nil {
		t.Error(err)
	}
}
