package assistant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine limits a message, in bytes.
const maxLine = 1 << 20

// Lines returns a transport with one message on each line. It answers a line that is not a message with an error, and goes on with the
// next one: the session does not end. At the end of in, requests are answered first, within [maxWait]. The end of a session closes neither in
// nor out.
func Lines(in io.Reader, out io.Writer) mcp.Transport {
	answers := &wholeWriter{out: out}
	answers.changed.L = &answers.mu
	return &mcp.IOTransport{Reader: io.NopCloser(&lines{in: bufio.NewReader(in), answers: answers}), Writer: answers, MaxLineLength: 2 * maxLine}
}

// Refusal is the answer to a request that no tool or resource answers. It is an error of JSON-RPC.
type Refusal struct {
	Version string `json:"jsonrpc"`
	// ID is that of the request; null if it has no valid one.
	ID    json.RawMessage `json:"id"`
	Error jsonrpc.Error   `json:"error"`
}

// Refuse returns the answer to a request, with a code of package jsonrpc.
func Refuse(request []byte, code int64, text string) *Refusal {
	r := &Refusal{Version: "2.0", ID: json.RawMessage("null"), Error: jsonrpc.Error{Code: code, Message: text}}
	var id struct{ ID json.RawMessage }
	if json.Unmarshal(request, &id) == nil && len(id.ID) > 0 && strings.ContainsAny(string(id.ID[:1]), `"-0123456789`) {
		r.ID = id.ID
	}
	return r
}

// Check returns the answer to what is not a message; nil for a message.
func Check(request []byte) *Refusal {
	if len(request) > maxLine {
		return Refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the request is larger than %d KiB", maxLine>>10))
	}
	if !json.Valid(request) {
		return Refuse(nil, jsonrpc.CodeParseError, "the request is not JSON")
	}
	if bytes.HasPrefix(bytes.TrimSpace(request), []byte("[")) {
		return Refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: send one request at a time")
	}
	if _, err := jsonrpc.DecodeMessage(request); err != nil {
		return Refuse(request, jsonrpc.CodeInvalidRequest, "the request is not a message of JSON-RPC 2.0")
	}
	return nil
}

// lines reads the lines that are messages, and answers the others.
type lines struct {
	in      *bufio.Reader
	answers *wholeWriter
	// rest is what was not read of the last line.
	rest []byte
}

// Read implements [io.Reader].
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if answer := Check(line); answer == nil {
				l.answers.received(line)
				l.rest = append(line, '\n')
				break
			} else if err := l.answer(answer); err != nil {
				return 0, err
			}
		}
		if err != nil {
			l.answers.finish()
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lines) answer(r *Refusal) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = l.answers.Write(append(text, '\n'))
	return err
}

// line returns the next line, and of a longer one what exceeds maxLine by little.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// maxWait is how long requests are answered after the end of the input.
const maxWait = time.Minute

// wholeWriter writes one message at a time, and knows which requests are not answered yet. It is not closed.
type wholeWriter struct {
	mu  sync.Mutex
	out io.Writer
	// requests are those of the client, and questions those to it, by their ids.
	requests, questions map[jsonrpc.ID]bool
	changed             sync.Cond
}

// Write implements [io.Writer].
func (w *wholeWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.out.Write(p)
	note(&w.questions, &w.requests, p)
	w.changed.Broadcast()
	return n, err
}

// received notes a message of the client.
func (w *wholeWriter) received(message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	note(&w.requests, &w.questions, message)
}

// note adds a request to asked, and removes what an answer is about from answered.
func note(asked, answered *map[jsonrpc.ID]bool, message []byte) {
	m, err := jsonrpc.DecodeMessage(bytes.TrimSpace(message))
	if err != nil {
		return
	}
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			if *asked == nil {
				*asked = map[jsonrpc.ID]bool{}
			}
			(*asked)[m.ID] = true
		}
	case *jsonrpc.Response:
		delete(*answered, m.ID)
	}
}

// finish waits until the requests are answered. A question to the client will not be, and neither the request that waits for it.
func (w *wholeWriter) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := false
	timer := time.AfterFunc(maxWait, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.changed.Broadcast()
	})
	defer timer.Stop()
	for !late && len(w.requests) > 0 && len(w.questions) == 0 {
		w.changed.Wait()
	}
}

// Close implements [io.Closer].
func (*wholeWriter) Close() error { return nil }
