package assistant

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestSessionsSurviveLines that are not messages: each gets an error, and the next message is answered.
func TestSessionsSurviveLines(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- New(Options{Version: "1"}).Run(t.Context(), Lines(in, out)) }()
	answers := bufio.NewReader(receive)
	type answer struct {
		ID    json.RawMessage
		Error struct{ Code int }
	}
	ask := func(line string) (a answer) {
		t.Helper()
		if _, err := io.WriteString(send, line+"\n"); err != nil {
			t.Fatal(err)
		}
		text, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return a
	}
	if a := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`); a.Error.Code != 0 {
		t.Fatalf("%+v", a)
	}
	for name, tc := range map[string]struct {
		line, id string
		code     int
	}{
		"not JSON":        {`{bad`, "null", -32700},
		"empty batch":     {`[]`, "null", -32600},
		"batch":           {`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, "null", -32600},
		"nested":          {strings.Repeat("[", 1_000_000), "null", -32700},
		"large":           {`"` + strings.Repeat("x", 3<<20) + `"`, "null", -32600},
		"text":            {`"ping"`, "null", -32600},
		"two messages":    {`{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`, "null", -32700},
		"no version":      {`{"id":7,"method":"ping"}`, "7", -32600},
		"an object as ID": {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600},
		"unknown method":  {`{"jsonrpc":"2.0","id":"a","method":"none"}`, `"a"`, -32601},
	} {
		a := ask("\n  \r\n" + tc.line + "\r")
		if a.Error.Code != tc.code || string(a.ID) != tc.id {
			t.Errorf("%s: got %d for %s, want %d for %s", name, a.Error.Code, a.ID, tc.code, tc.id)
		}
		if a := ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); a.Error.Code != 0 || string(a.ID) != "2" {
			t.Fatalf("%s ended the session: %+v", name, a)
		}
	}
	if _, err := io.WriteString(send, `{bad`); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, receive) //nolint:errcheck // it ends with the test
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestTheLastRequestIsAnswered: a program can write its requests and close its output.
func TestTheLastRequestIsAnswered(t *testing.T) {
	const requests = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	var out strings.Builder
	if err := New(Options{Version: "1"}).Run(t.Context(), Lines(strings.NewReader(requests), &out)); err != nil {
		t.Error(err)
	}
	for _, id := range []string{`"id":1`, `"id":2`} {
		if !strings.Contains(out.String(), id) {
			t.Errorf("no answer has %s: %s", id, out.String())
		}
	}
}
