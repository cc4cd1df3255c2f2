package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxEvent bounds one event, in bytes.
	maxEvent = 1 << 20
	// maxSilence is how long a stream may send nothing, not even a comment, before it counts as lost.
	maxSilence = 2 * time.Minute
	// stableAfter is how long a connection has to live before the next pause starts short again.
	stableAfter = 30 * time.Second
)

// Event is one event of a stream.
type Event struct {
	// ID is the position to resume after; may be empty.
	ID string
	// Type is the event's name. Default: "message".
	Type string
	// Data is the content, usually JSON.
	Data string
}

// Events yields the server-sent events of a path below the API's root, until the caller stops or the context ends.
// A stream that ends or breaks is connected again and resumes after the last event. A refusal that another attempt
// would not change, or the end of the context, is yielded last, as an error.
//
// It calls opened, unless that is nil, for each connection as soon as the server listens: the events do not tell what changed before the first.
func (c *Client) Events(ctx context.Context, path string, query url.Values, opened func()) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{client: c, path: path, query: query, opened: opened, pause: firstPause, yield: yield}
		for s.connect(ctx) {
		}
	}
}

// stream is a stream of events over any number of connections.
type stream struct {
	client *Client
	path   string
	query  url.Values
	opened func() // optional
	yield  func(Event, error) bool
	// last is the ID of the last event.
	last string
	// pause precedes the next connection; base is the pause that the server requests.
	pause, base time.Duration
}

// connect reads one connection to its end and reports whether to connect again.
func (s *stream) connect(ctx context.Context) bool {
	start := time.Now()
	err := s.read(ctx)
	if errors.Is(err, errStopped) {
		return false
	}
	if ctx.Err() != nil {
		s.yield(Event{}, context.Cause(ctx))
		return false
	}
	wait, again := retryable(s.call(), err, s.pause)
	if !again && err != nil {
		s.yield(Event{}, err)
		return false
	}
	if time.Since(start) > stableAfter {
		s.pause = max(firstPause, s.base)
	}
	if err == nil {
		err = errors.New("the stream ended")
	}
	if err := s.client.pause(ctx, err, max(wait, s.base)); err != nil {
		s.yield(Event{}, err)
		return false
	}
	s.pause = min(2*s.pause, longestPause)
	return true
}

// errStopped means that the caller stopped the iteration.
var errStopped = errors.New("stopped")

// read yields the events of one connection. It always returns an error.
func (s *stream) read(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	alarm := time.AfterFunc(maxSilence, stop)
	defer alarm.Stop()
	response, err := s.open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return connectionError{err}
		}
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if s.opened != nil {
		s.opened()
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 4096), maxEvent)
	p := eventParser{id: s.last}
	for lines.Scan() {
		alarm.Reset(maxSilence)
		complete, err := p.line(lines.Text())
		switch {
		case err != nil:
			return err
		case !complete:
			continue
		}
		if !s.deliver(&p) {
			return errStopped
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errTooLong
	}
	return connectionError{fmt.Errorf("read the stream: %w", errors.Join(lines.Err(), io.EOF))}
}

// call is the request for what follows the last event.
func (s *stream) call() *call {
	header := map[string]string{"Accept": "text/event-stream"}
	// The ID comes from the server and may hold characters that a header must not.
	if s.last != "" && !strings.ContainsFunc(s.last, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		header["Last-Event-ID"] = s.last
	}
	return &call{method: http.MethodGet, path: s.path, query: s.query, header: header}
}

func (s *stream) open(ctx context.Context) (*http.Response, error) {
	response, err := s.client.do(ctx, s.call())
	if err != nil {
		return nil, err
	}
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return nil, errors.Join(ErrNoAPI, response.Body.Close(), fmt.Errorf("the answer is %q instead of a stream of events", kind))
	}
	return response, nil
}

// deliver yields a complete event and starts the next one. It reports whether the caller wants more.
func (s *stream) deliver(p *eventParser) bool {
	if p.retry > 0 {
		s.base = p.retry
	}
	s.last = p.id
	event := Event{ID: p.id, Type: cmp.Or(p.kind, "message"), Data: strings.Join(p.data, "\n")}
	empty := len(p.data) == 0
	*p = eventParser{id: p.id}
	return empty || s.yield(event, nil)
}

var errTooLong = fmt.Errorf("read the stream: an event is longer than %d MiB", maxEvent>>20)

// eventParser collects the lines of one event.
type eventParser struct {
	id, kind string
	data     []string
	size     int
	retry    time.Duration
}

// line adds a line and reports whether it completes the event. Unknown fields are ignored, as the format requires.
func (p *eventParser) line(text string) (complete bool, err error) {
	switch {
	case text == "":
		return true, nil
	case text[0] == ':': // a comment, which keeps the connection alive
		return false, nil
	}
	if p.size += len(text) + 1; p.size > maxEvent {
		return false, errTooLong
	}
	field, value, _ := strings.Cut(text, ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "id":
		p.id = value
	case "event":
		p.kind = value
	case "data":
		p.data = append(p.data, value)
	case "retry":
		if ms, err := strconv.Atoi(value); err == nil && ms > 0 {
			p.retry = min(time.Duration(min(ms, 3_600_000))*time.Millisecond, longestPause)
		}
	}
	return false, nil
}
