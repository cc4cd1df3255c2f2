package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what one remote repository can take of this program. A field that is zero has its default.
type Limits struct {
	// Answer is the time to connect and to list the references. Default: 30s.
	Answer time.Duration
	// Transfer is the time to send or receive a pack. Default: 5m.
	Transfer time.Duration
	// Stall is the time in which a pack has to grow by at least a kibibyte per second. Default: 30s.
	Stall time.Duration
	// Wait is how long a read waits for another one of the same repository. Default: Transfer.
	Wait time.Duration
	// Pause is how long a repository is not contacted after it exceeded a limit, or longer if the attempt took
	// longer. It doubles each time, up to half an hour. After three repositories of a host that exceeded a limit of time, the whole host is paused.
	// Default: 1m.
	Pause time.Duration
	// References and Pack are the sizes of the list of references and of a pack, in bytes. Defaults: 32 MiB, 4 GiB.
	References, Pack int64
	// Objects is the number of objects of a pack, Content the size of all of them when they are unpacked, in bytes. Whatever it is,
	// a pack of more than a mebibyte can have a thousand times its size. Defaults: 4 million, 64 GiB.
	Objects, Content int64
}

func (l Limits) orDefaults() Limits {
	l.Answer = cmp.Or(l.Answer, 30*time.Second)
	l.Transfer = cmp.Or(l.Transfer, 5*time.Minute)
	l.Stall = cmp.Or(l.Stall, 30*time.Second)
	l.Wait = cmp.Or(l.Wait, l.Transfer)
	l.Pause = cmp.Or(l.Pause, time.Minute)
	l.References = cmp.Or(l.References, 32<<20)
	l.Pack = cmp.Or(l.Pack, 4<<30)
	l.Objects = cmp.Or(l.Objects, 4_000_000)
	l.Content = cmp.Or(l.Content, 64<<30)
	return l
}

const (
	// minRate is how much a pack has to grow, in bytes per second.
	minRate = 1 << 10
	// firstStalls is how many times Stall a server has to prepare a pack.
	firstStalls = 4
	// maxPause is the longest pause.
	maxPause = 30 * time.Minute
	// pausesHost is the number of repositories that pause their host.
	pausesHost = 3
)

// slowError means that a limit of time was exceeded.
type slowError string

func (e slowError) Error() string { return string(e) }

// bounded runs an operation on a remote with a limit of time. The operation's context ends with a [slowError] as the cause
// if the limit is exceeded.
func (c *Client) bounded(ctx context.Context, op string, l location, limit time.Duration, what string, do func(context.Context, context.CancelCauseFunc) error) error {
	begun := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(slowError(what + " within " + limit.String())) })
	defer timer.Stop()
	err := do(ctx, cancel)
	var slow slowError
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(context.Cause(ctx), &slow):
	case ctx.Err() == nil && errors.As(err, &network) && network.Timeout():
		slow = slowError(what + " in time")
	default:
		return err
	}
	err = &Error{Kind: ErrUnavailable, Op: op, Where: l.String(), Detail: slow.Error(), Hint: "check the server; it is contacted again after a pause"}
	c.sources.exceeded(l, err, time.Since(begun), c.Limits.orDefaults().Pause)
	return err
}

// sources are the repositories that exceeded a limit, and the hosts that exceeded a limit of time. They are not contacted for a while, so that they
// do not hold up everything else again and again.
type sources struct {
	mu           sync.Mutex
	repositories map[string]*slowSource
	hosts        map[string]*slowHost
}

// slowSource is a repository that exceeded a limit, and has not been read since.
type slowSource struct {
	since, until time.Time
	failures     int
	err          error
}

// slowHost is a host with such repositories.
type slowHost struct {
	until        time.Time
	repositories map[string]bool
	err          error
}

// paused returns why a repository must not be contacted now; nil if it can be.
// The error does not depend on the time, because it is shown on pull requests.
func (s *sources) paused(l location) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if slow := s.repositories[l.String()]; slow != nil && now.Before(slow.until) {
		return slow.err
	}
	if host := s.hosts[l.hostPort()]; host != nil && now.Before(host.until) {
		return &Error{
			Kind: ErrUnavailable, Op: "connect to", Where: l.String(),
			Detail: fmt.Sprintf("%d repositories of its host did not answer in time", pausesHost), Hint: "check the server; it is contacted again after a pause",
		}
	}
	return nil
}

// exceeded notes that a repository exceeded a limit of time.
func (s *sources) exceeded(l location, err error, took, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slow := s.source(l)
	slow.pause(err, took, pause)
	host := s.hosts[l.hostPort()]
	if host == nil {
		host = &slowHost{repositories: map[string]bool{}}
		s.hosts[l.hostPort()] = host
	}
	host.repositories[l.String()] = true
	if len(host.repositories) >= pausesHost {
		host.until = slow.until
	}
}

// refused notes that a repository exceeded a limit of size. Others of its host can be read.
func (s *sources) refused(l location, err error, took, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source(l).pause(err, took, pause)
}

// source returns what is known of a repository that exceeds a limit.
func (s *sources) source(l location) *slowSource {
	if s.repositories == nil {
		s.repositories, s.hosts = map[string]*slowSource{}, map[string]*slowHost{}
	}
	slow := s.repositories[l.String()]
	if slow == nil {
		slow = &slowSource{since: time.Now()}
		s.repositories[l.String()] = slow
	}
	return slow
}

func (s *slowSource) pause(err error, took, pause time.Duration) {
	pause = min(max(pause, took)<<min(s.failures, 10), maxPause)
	s.failures++
	s.err, s.until = err, time.Now().Add(pause)
}

// read notes that a repository was read.
func (s *sources) read(l location) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.repositories, l.String())
	delete(s.hosts, l.hostPort())
}

// Unavailable is a remote repository that exceeded a limit, and has not been read since.
type Unavailable struct {
	// Repository is its URL, without credentials.
	Repository string
	Since      time.Time
	Err        error
}

// Unavailable returns the remote repositories that exceeded a limit and have not been read since, sorted.
func (c *Client) Unavailable() []Unavailable {
	c.sources.mu.Lock()
	defer c.sources.mu.Unlock()
	var all []Unavailable
	for url, slow := range c.sources.repositories {
		all = append(all, Unavailable{Repository: url, Since: slow.since, Err: slow.err})
	}
	slices.SortFunc(all, func(a, b Unavailable) int { return strings.Compare(a.Repository, b.Repository) })
	return all
}

// meter counts the bytes of a pack. It cancels the transfer if the pack grows too slowly, and fails if it is too large.
type meter struct {
	r      io.Reader
	limit  int64
	count  atomic.Int64
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// newMeter starts to measure. The caller stops it.
func newMeter(limits Limits, cancel context.CancelCauseFunc) *meter {
	m := &meter{limit: limits.Pack, cancel: cancel, done: make(chan struct{})}
	go m.watch(limits.Stall)
	return m
}

func (m *meter) stop() { close(m.done) }

func (m *meter) watch(stall time.Duration) {
	ticks := time.NewTicker(stall)
	defer ticks.Stop()
	last, waited := int64(0), 0
	for {
		select {
		case <-m.done:
			return
		case <-ticks.C:
		}
		count := m.count.Load()
		waited++
		switch {
		case count == 0 && waited < firstStalls: // the server prepares the pack
		case count == 0:
			m.cancel(slowError(fmt.Sprintf("it sent nothing for %s", time.Duration(waited)*stall)))
		case last > 0 && float64(count-last) < minRate*stall.Seconds():
			m.cancel(slowError(fmt.Sprintf("it sent less than %d bytes per second for %s", minRate, stall)))
		}
		last = count
	}
}

// Read implements [io.Reader].
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.count.Add(int64(n)) > m.limit {
		return n, tooMuchError{what: "it sends a pack", limit: m.limit}
	}
	return n, err
}

// tooMuchError means that a server sends more than the limit.
type tooMuchError struct {
	what  string
	limit int64
	unit  string // bytes if empty
}

func (e tooMuchError) Error() string {
	return fmt.Sprintf("%s of more than %d %s", e.what, e.limit, cmp.Or(e.unit, "bytes"))
}

// limitedTransport bounds the size of lists of references.
type limitedTransport struct {
	http.RoundTripper
	limit int64
}

// RoundTrip implements [http.RoundTripper].
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/info/refs") {
		response.Body = &limitedBody{ReadCloser: response.Body, rest: t.limit, limit: t.limit}
	}
	return response, err
}

type limitedBody struct {
	io.ReadCloser
	rest, limit int64
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.rest -= int64(n); b.rest < 0 {
		return 0, tooMuchError{what: "it lists references", limit: b.limit}
	}
	return n, err
}
