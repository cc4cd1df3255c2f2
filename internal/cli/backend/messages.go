package backend

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// Messages returns the receivers of messages, and messages that are not delivered, of the server or ledger that the flags choose.
func (f *Flags) Messages(cmd *cobra.Command, t *terminal.Terminal, receiver string) (found api.Messages, err error) {
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return found, err
	}
	if at.Server != nil {
		query := url.Values{}
		if receiver != "" {
			query.Set("receiver", receiver)
		}
		err := at.Server.Get(cmd.Context(), "messages", query, &found)
		return found, Hint(err)
	}
	err = WithLedger(cmd.Context(), open.Existing, at.Ledger, func(l ledger.Ledger) error {
		found, err = api.ListMessages(cmd.Context(), l, api.MessagesQuery{Receiver: receiver})
		return err
	})
	return found, Hint(err)
}
