package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// ledgerImportCommand is "kalypso ledger import".
type ledgerImportCommand struct {
	t     *terminal.Terminal
	place backend.Flags
}

func newLedgerImport(t *terminal.Terminal) *cobra.Command {
	c := &ledgerImportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "import [FILE...]",
		Short: "Add exported facts, or signed reports of clusters without a connection, to a ledger",
		Long: `Add to a ledger what is in files, or stdin:

    kalypso ledger export           everything that another ledger holds
    kalypso cluster report          signed reports of a cluster that has no connection; its key has to be registered

What the ledger has already stays once, so that an import may be repeated, and several ledgers can be brought together.
It stops at the first line that it cannot use, and says which. A ledger file that does not exist yet is made.

A server takes signed reports as well, from an admin.`,
		Example: `  kalypso ledger import --ledger kalypso-data/ledger.db ledger.jsonl
  kalypso ledger import --server https://kalypso.example.com large-07.jsonl large-08.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.place.Bind(cmd)
	return cmd
}

func (c *ledgerImportCommand) run(cmd *cobra.Command, files []string) error {
	at, err := c.place.Resolve(cmd, c.t)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	if at.Server != nil {
		return c.importAll(cmd.Context(), files, &serverImport{at.Server})
	}
	return backend.WithLedger(cmd.Context(), backend.OpenLedger, at.Ledger, func(l ledger.Ledger) error {
		return c.importAll(cmd.Context(), files, &localImport{l, c.t.Now})
	})
}

func (c *ledgerImportCommand) importAll(ctx context.Context, files []string, to importer) error {
	for _, file := range files {
		if err := c.importFile(ctx, file, to); err != nil {
			return err
		}
	}
	return nil
}

// importFile adds one file, and says so.
func (c *ledgerImportCommand) importFile(ctx context.Context, file string, to importer) error {
	in, name := c.t.In, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in, name = f, file
	}
	what, err := addTo(ctx, bufio.NewReader(in), to)
	var f *cli.Failure
	switch {
	case errors.As(err, &f):
		return fmt.Errorf("%s: %w", terminal.Printable(name), err)
	case err != nil:
		return cli.Failed(fmt.Errorf("%s: %w", terminal.Printable(name), err), "what came before that line was added, and adding it again does no harm")
	}
	fmt.Fprintf(c.t.Out, "%s: %s\n", terminal.Printable(name), what)
	return nil
}

// importer takes what is in files: a ledger, or a server.
type importer interface {
	// Facts takes what another ledger exported, Signed the reports of a cluster without a connection.
	Facts(ctx context.Context, in io.Reader) error
	Signed(ctx context.Context, in io.Reader) (api.Imported, error)
}

// addTo adds what is in a file, and says what that was.
func addTo(ctx context.Context, in *bufio.Reader, to importer) (string, error) {
	if !isSigned(in) {
		return "added what was exported", to.Facts(ctx, in)
	}
	taken, err := to.Signed(ctx, in)
	return fmt.Sprintf("added %s of %s", terminal.Count(taken.Reports, "report"), terminal.Printable(strings.Join(taken.Clusters, ", "))), err
}

// localImport imports into a ledger.
type localImport struct {
	ledger ledger.Ledger
	now    func() time.Time
}

// Facts implements [importer].
func (i *localImport) Facts(ctx context.Context, in io.Reader) error {
	return ledger.Import(ctx, i.ledger, in)
}

// Signed implements [importer].
func (i *localImport) Signed(ctx context.Context, in io.Reader) (api.Imported, error) {
	taken, err := (&ingest.Intake{Ledger: i.ledger}).TakeFile(ctx, i.ledger, in, i.now())
	return api.Imported{Batches: taken.Batches, Reports: taken.Reports, Clusters: taken.Clusters}, err
}

// serverImport sends files to a server.
type serverImport struct{ client *client.Client }

// Facts implements [importer]: tokens and registrations are among them, which no server takes from afar.
func (i *serverImport) Facts(context.Context, io.Reader) error {
	return cli.Failed(errors.New("a server takes signed reports only"), "import what was exported into the ledger itself, with --ledger")
}

// maxSent is how much a server takes at once.
const maxSent = 64 << 20

// Signed implements [importer].
func (i *serverImport) Signed(ctx context.Context, in io.Reader) (taken api.Imported, err error) {
	file, err := io.ReadAll(io.LimitReader(in, maxSent+1))
	switch {
	case err != nil:
		return taken, err
	case len(file) > maxSent:
		return taken, cli.Failed(fmt.Errorf("it has more than %d MiB", maxSent>>20), "send its lines in several files")
	}
	err = backend.Hint(i.client.PostFile(ctx, "reports/file", "application/x-ndjson", file, &taken))
	return taken, err
}

// isSigned looks at the beginning of a file: the name of the first field tells the formats apart.
func isSigned(in *bufio.Reader) bool {
	// An error, such as the end of the file, is met again by whoever reads it.
	beginning, _ := in.Peek(in.Size())
	tokens := json.NewDecoder(bytes.NewReader(beginning))
	if brace, err := tokens.Token(); err != nil || brace != json.Delim('{') {
		return false
	}
	first, _ := tokens.Token()
	return first == "payloadType" || first == "payload" || first == "signatures"
}
