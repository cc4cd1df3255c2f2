package client

import (
	"bufio"
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
	// MaxEvent bounds one event, in bytes.
	MaxEvent = 1 << 20
	// silence is how long a stream may say nothing, not even a comment, before it counts as lost.
	silence = 2 * time.Minute
	// steady is how long a stream has to live so that the next pause is a short one again.
	steady = 30 * time.Second
)

// Event is one event of a stream.
type Event struct {
	// ID is what the stream goes on after; may be empty.
	ID string
	// Type is the event's name; "message" where the server gives it none.
	Type string
	// Data is the text that came with it, most often JSON.
	Data string
}

// Events yields what a path below [Root] streams, as server-sent events, until the caller stops or the context ends.
// A stream that ends or breaks is connected again, where it was left. An answer that says no, and would say so again,
// is the last that is yielded; so is the end of the context.
func (c *Client) Events(ctx context.Context, path string, query url.Values) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{client: c, call: call{method: http.MethodGet, path: path, query: query}, pause: firstPause, yield: yield}
		for s.connect(ctx) {
		}
	}
}

// stream is a stream of events over any number of connections.
type stream struct {
	client *Client
	call   call
	yield  func(Event, error) bool
	// last is the ID of the last event.
	last string
	// pause is how long to wait before the next connection; base is what the server asks for.
	pause, base time.Duration
}

// connect reads one connection to its end. It reports whether another one is wanted.
func (s *stream) connect(ctx context.Context) bool {
	began := time.Now()
	err := s.read(ctx)
	if errors.Is(err, errStopped) {
		return false
	}
	if ctx.Err() != nil {
		s.yield(Event{}, context.Cause(ctx))
		return false
	}
	wait, again := worthwhile(&s.call, err, s.pause)
	if !again && err != nil {
		s.yield(Event{}, err)
		return false
	}
	if time.Since(began) > steady {
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

// errStopped says that the caller has heard enough.
var errStopped = errors.New("stopped")

// read yields the events of one connection. Its end, by whomever, is nil or an error that is lost.
func (s *stream) read(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Whoever says nothing for long may be gone without a word.
	alarm := time.AfterFunc(silence, stop)
	defer alarm.Stop()
	response, err := s.client.open(ctx, &s.call, s.last)
	if err != nil {
		if ctx.Err() != nil {
			return lost{err}
		}
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 4096), MaxEvent)
	e := eventText{id: s.last}
	for lines.Scan() {
		alarm.Reset(silence)
		complete, err := e.line(lines.Text())
		switch {
		case err != nil:
			return err
		case !complete:
			continue
		}
		if !s.deliver(&e) {
			return errStopped
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errTooLong
	}
	return lost{fmt.Errorf("read the stream: %w", errors.Join(lines.Err(), io.EOF))}
}

// open connects to a stream.
func (c *Client) open(ctx context.Context, q *call, last string) (*http.Response, error) {
	response, err := c.do(ctx, q, "text/event-stream", last)
	if err != nil {
		return nil, err
	}
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return nil, errors.Join(ErrNoAPI, response.Body.Close(), fmt.Errorf("it streams %q, and no events", kind))
	}
	return response, nil
}

// deliver hands on an event, and starts the next one.
func (s *stream) deliver(e *eventText) bool {
	if e.retry > 0 {
		s.base = e.retry
	}
	s.last = e.id
	data := strings.Join(e.data, "\n")
	event := Event{ID: e.id, Type: e.kind, Data: data}
	if event.Type == "" {
		event.Type = "message"
	}
	empty := len(e.data) == 0
	*e = eventText{id: e.id}
	return empty || s.yield(event, nil)
}

var errTooLong = fmt.Errorf("read the stream: an event is longer than %d MiB", MaxEvent>>20)

// eventText is an event while its lines come in.
type eventText struct {
	id, kind string
	data     []string
	size     int
	retry    time.Duration
}

// line takes a line, and says whether it ends the event. Fields that nobody knows are left out, as the format wants it.
func (e *eventText) line(text string) (complete bool, err error) {
	switch {
	case text == "":
		return true, nil
	case text[0] == ':': // a comment, which keeps the line alive
		return false, nil
	}
	if e.size += len(text) + 1; e.size > MaxEvent {
		return false, errTooLong
	}
	field, value, _ := strings.Cut(text, ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "id":
		e.id = value
	case "event":
		e.kind = value
	case "data":
		e.data = append(e.data, value)
	case "retry":
		if ms, err := strconv.Atoi(value); err == nil && ms > 0 {
			e.retry = min(time.Duration(min(ms, 3_600_000))*time.Millisecond, longestPause)
		}
	}
	return false, nil
}
