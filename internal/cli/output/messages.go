package output

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// Messages prints receivers, and messages that are not delivered.
func (v Printer) Messages(w io.Writer, found api.Messages) error {
	if len(found.Receivers) == 0 && len(found.Items) == 0 {
		_, err := fmt.Fprintln(w, "no receivers; the server's configuration has none in notifications")
		return err
	}
	var t terminal.Table
	t.Row(v.style.Heads("RECEIVER", "PENDING", "DELIVERED", "DEAD", "DROPPED", "NEXT ATTEMPT", "LAST ERROR")...)
	for _, r := range found.Receivers {
		t.Row(terminal.Plain(r.Name), v.badCount(r.Pending, v.style.Yellow), terminal.Plain(strconv.Itoa(r.Delivered)), v.badCount(r.Dead, v.style.Red),
			v.badCount(r.Dropped, v.style.Red), terminal.Plain(v.When(r.Due)), terminal.Plain(cmp.Or(r.Error, "-")))
	}
	if err := t.Write(w); err != nil || len(found.Items) == 0 {
		return err
	}
	fmt.Fprintln(w)
	var messages terminal.Table
	messages.Row(v.style.Heads("EVENT", "RECEIVER", "STATE", "ATTEMPTS", "NEXT ATTEMPT", "MESSAGE", "ERROR")...)
	for _, m := range found.Items {
		state := terminal.Plain(string(m.State))
		if m.State != ledger.MessagePending {
			state = terminal.Painted(v.style.Red, string(m.State))
		}
		messages.Row(terminal.Plain(v.When(m.At)), terminal.Plain(m.Receiver), state, terminal.Plain(strconv.Itoa(m.Attempts)), terminal.Plain(v.When(m.Due)),
			terminal.Plain(m.Title), terminal.Plain(cmp.Or(m.Error, "-")))
	}
	return messages.Write(w)
}

// badCount is a number that is painted unless it is zero.
func (v Printer) badCount(n int, paint func(string) string) terminal.Cell {
	if n == 0 {
		return terminal.Plain("0")
	}
	return terminal.Painted(paint, strconv.Itoa(n))
}
