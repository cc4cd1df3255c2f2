package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// TestTimesThatMoveByThemselvesAreNoChange: each report of a cluster moves the time at which its gate may change.
func TestTimesThatMoveByThemselvesAreNoChange(t *testing.T) {
	t.Parallel()
	at := func(minute int) fleetStatus {
		moment := time.Date(2025, 3, 3, 9, minute, 0, 0, time.UTC)
		return fleetStatus{
			Items:        []query.Environment{{Name: "dev", Gate: &query.Gate{Commit: "abc", Next: moment}, LastRound: moment}},
			Applications: []query.Application{{LastRound: moment}},
		}
	}
	first, second := at(1), at(2)
	_, before, err := first.line()
	text, after, err2 := second.line()
	if err = errors.Join(err, err2); err != nil || before != after {
		t.Errorf("%v: %s differs from %s", err, before, after)
	}
	if second.Items[0].Gate.Next.IsZero() || !strings.Contains(text, `"next":"2025-03-03T09:02:00Z"`) {
		t.Errorf("the time is missing in %s", text)
	}
}

// TestStatusWatchWritesALineForEachChange: a program reads one document for each change of a ledger, and ends the command with success.
func TestStatusWatchWritesALineForEachChange(t *testing.T) {
	t.Parallel()
	env := []string{backend.EnvLedger + "=" + filepath.Join(t.TempDir(), "ledger.db")}
	command := func(stdin string, args ...string) {
		t.Helper()
		var complaints bytes.Buffer
		if code := run(t.Context(), args, env, strings.NewReader(stdin), io.Discard, &complaints); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &complaints)
		}
	}
	command(facts(t), "ledger", "import")

	ctx, interrupt := context.WithCancel(t.Context())
	in, out := io.Pipe()
	code := make(chan int, 1)
	var complaints bytes.Buffer
	go func() {
		code <- run(ctx, []string{"status", "--watch", "-o", "json"}, env, nil, out, &complaints)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	type environment struct {
		Phase  string
		Paused *struct{ Reason string }
	}
	next := func() (prod environment) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("it ended: %v, %s", lines.Err(), &complaints)
		}
		if err := checkResult([]string{"status", "-o", "json"}, 0, lines.Bytes()); err != nil {
			t.Error(err)
		}
		var status struct{ Items []json.RawMessage }
		if err := json.Unmarshal(lines.Bytes(), &status); err != nil || len(status.Items) == 0 {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		if err := json.Unmarshal(status.Items[len(status.Items)-1], &prod); err != nil {
			t.Fatal(err)
		}
		return prod
	}
	if prod := next(); prod.Paused != nil {
		t.Errorf("first: got %+v", prod)
	}
	command("", "promote", "pause", "prod", "--why", "sale until Monday")
	if prod := next(); prod.Paused == nil {
		t.Errorf("after the pause: got %+v", prod)
	}
	interrupt()
	if lines.Scan() {
		t.Errorf("more than one line for a change: %s", lines.Bytes())
	}
	if got := <-code; got != 0 {
		t.Errorf("exit code %d: %s", got, &complaints)
	}
}
