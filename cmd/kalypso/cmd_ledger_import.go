package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/reporting"
)

// ledgerImportCommand is "kalypso ledger import".
type ledgerImportCommand struct {
	t      *terminal
	ledger ledgerFlag
}

func newLedgerImport(t *terminal) *cobra.Command {
	c := &ledgerImportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "import [FILE...]",
		Short: "Add exported facts, or signed reports of clusters without a connection, to a ledger",
		Long: `Add to a ledger what is in files, or stdin:

    kalypso ledger export           everything that another ledger holds
    kalypso cluster report          signed reports of a cluster that has no connection; its key has to be registered

What the ledger has already stays once, so that an import may be repeated, and several ledgers can be brought together.
It stops at the first line that it cannot use, and says which. A ledger file that does not exist yet is made.`,
		Example: `  kalypso ledger import --ledger kalypso-data/ledger.db ledger.jsonl
  kalypso ledger import --ledger kalypso-data/ledger.db large-07.jsonl large-08.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.ledger.bind(cmd, "the ledger to add to")
	return cmd
}

func (c *ledgerImportCommand) run(cmd *cobra.Command, files []string) error {
	at, err := c.ledger.want(cmd, c.t)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	return withLedger(cmd.Context(), openLedger, at, func(l ledger.Ledger) error {
		for _, file := range files {
			if err := c.importFile(cmd.Context(), l, file); err != nil {
				return err
			}
		}
		return nil
	})
}

// importFile adds one file, and says so.
func (c *ledgerImportCommand) importFile(ctx context.Context, l ledger.Ledger, file string) error {
	in, name := c.t.in, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in, name = f, file
	}
	what, err := addTo(ctx, l, in, c.t.now())
	if err != nil {
		return failed(fmt.Errorf("%s: %w", printable(name), err), "what came before that line was added, and adding it again does no harm")
	}
	fmt.Fprintf(c.t.out, "%s: %s\n", printable(name), what)
	return nil
}

// addTo adds what is in a file, and says what that was.
func addTo(ctx context.Context, l ledger.Ledger, in io.Reader, now time.Time) (string, error) {
	text := bufio.NewReaderSize(in, 4096)
	if !isSigned(text) {
		return "added what was exported", ledger.Import(ctx, l, text)
	}
	taken, err := (&reporting.Intake{Ledger: l}).TakeFile(ctx, l, text, now)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("added %s of %s", count(taken.Reports, "report"), strings.Join(taken.Clusters, ", ")), nil
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
