package backend

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// Messages returns the receivers of messages, and messages that are not delivered, of the server or ledger that the flags choose.
func (f *Flags) Messages(cmd *cobra.Command, t *terminal.Terminal, receiver string) (found api.Messages, err error) {
	wanted := api.MessagesQuery{Receiver: receiver}
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return found, err
	}
	if at.Server != nil {
		found, err = client.Ask[api.Messages](cmd.Context(), at.Server, "messages", wanted)
		return found, Hint(err)
	}
	err = WithLedger(cmd.Context(), open.Existing, at.Ledger, func(l ledger.Ledger) error {
		found, err = api.ListMessages(cmd.Context(), l, wanted)
		return err
	})
	return found, Hint(err)
}
