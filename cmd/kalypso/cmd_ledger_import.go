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
	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// ledgerImportCommand is "kalypso ledger import".
type ledgerImportCommand struct {
	t      *terminal.Terminal
	place  backend.Flags
	output *cli.Output
}

// importedFiles is the result of the command.
type importedFiles struct {
	Files []importedFile `json:"files"`
}

// importedFile is what a file had.
type importedFile struct {
	File string `json:"file"`
	// Reports is how many signed reports it had, and Clusters which clusters they are of; absent for exported facts.
	Reports  int      `json:"reports,omitempty"`
	Clusters []string `json:"clusters,omitempty"`

	signed bool
}

// String says it in words.
func (f importedFile) String() string {
	if !f.signed {
		return "imported the exported facts"
	}
	return fmt.Sprintf("imported %s of %s", terminal.Count(f.Reports, "report"), terminal.Printable(strings.Join(f.Clusters, ", ")))
}

func newLedgerImport(t *terminal.Terminal) *cobra.Command {
	c := &ledgerImportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "import [FILE...]",
		Short: "Import exported facts or signed reports into a ledger",
		Long: `Import files, or stdin, into a ledger. A file comes from one of two commands:

    kalypso ledger export           all facts of another ledger
    kalypso cluster report          signed reports of a cluster without a connection, whose key is registered

Facts that the ledger already has are skipped, so you can repeat an import, and merge several ledgers.
The import stops at the first invalid line and names it. If an exported file is incomplete, or was made by an earlier version, nothing is
imported; from stdin, the lines before the error are imported. A missing ledger file is created.

A server accepts signed reports from an admin.`,
		Example: `  kalypso ledger import --ledger kalypso-data/ledger.db ledger.jsonl
  kalypso ledger import --server https://kalypso.example.com large-07.jsonl large-08.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(importedFiles{})
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
	return backend.WithLedger(cmd.Context(), open.Ledger, at.Ledger, func(l ledger.Ledger) error {
		return c.importAll(cmd.Context(), files, &localImport{l, c.t.Now})
	})
}

func (c *ledgerImportCommand) importAll(ctx context.Context, files []string, to importer) error {
	done := importedFiles{Files: []importedFile{}}
	for _, file := range files {
		imported, err := c.importFile(ctx, file, to)
		if err != nil {
			return err
		}
		done.Files = append(done.Files, imported)
		if c.output.Format == cli.FormatText {
			fmt.Fprintf(c.t.Out, "%s: %s\n", terminal.Printable(imported.File), imported)
		}
	}
	return c.output.Write(c.t.Out, done, func(io.Writer) error { return nil })
}

// importFile imports one file.
func (c *ledgerImportCommand) importFile(ctx context.Context, file string, to importer) (importedFile, error) {
	in, name := c.t.In, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return importedFile{}, fmt.Errorf("import: %w", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in, name = f, file
	}
	imported, err := c.addFile(ctx, in, to)
	imported.File = name
	var f *cli.Failure
	switch {
	case errors.As(err, &f):
		return imported, fmt.Errorf("%s: %w", terminal.Printable(name), err)
	case err != nil:
		return imported, cli.Failed(fmt.Errorf("%s: %w", terminal.Printable(name), err), importHint(err, "what came before that line was added, and adding it again does no harm"))
	}
	return imported, nil
}

// importHint says what to do about an export that cannot be imported.
func importHint(err error, otherwise string) string {
	switch {
	case errors.Is(err, ledger.ErrEarlierFormat):
		return "this version converts a ledger when it opens it: export it again, with kalypso ledger export --ledger LEDGER FILE"
	case errors.Is(err, ledger.ErrCut):
		return "export again, or copy the whole file; adding what was added before does no harm"
	}
	return otherwise
}

// addFile imports a file. An export that can be read twice is checked first, so that nothing is added of one that is cut.
func (c *ledgerImportCommand) addFile(ctx context.Context, in io.Reader, to importer) (importedFile, error) {
	file, ok := in.(*os.File)
	if !ok {
		return addTo(ctx, bufio.NewReader(in), to)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return addTo(ctx, bufio.NewReader(in), to)
	}
	if !isSigned(bufio.NewReader(io.NewSectionReader(file, 0, 1<<16))) {
		if err := to.Check(file); err != nil {
			return importedFile{}, cli.Failed(fmt.Errorf("%w; nothing was imported", err), importHint(err, "correct the line, and import again"))
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return importedFile{}, err
		}
	}
	return addTo(ctx, bufio.NewReader(file), to)
}

// importer imports files into a ledger or a server.
type importer interface {
	// Facts imports the export of a ledger, Signed the reports of a cluster without a connection.
	Facts(ctx context.Context, in io.Reader) error
	// Check returns an error if Facts would not import all of an export.
	Check(in io.Reader) error
	Signed(ctx context.Context, in io.Reader) (ingest.Imported, error)
}

// addTo imports a file.
func addTo(ctx context.Context, in *bufio.Reader, to importer) (importedFile, error) {
	if !isSigned(in) {
		return importedFile{}, to.Facts(ctx, in)
	}
	taken, err := to.Signed(ctx, in)
	return importedFile{Reports: taken.Reports, Clusters: taken.Clusters, signed: true}, err
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

// Check implements [importer].
func (i *localImport) Check(in io.Reader) error { return ledger.CheckExport(in) }

// Signed implements [importer].
func (i *localImport) Signed(ctx context.Context, in io.Reader) (ingest.Imported, error) {
	taken, err := (&ingest.Intake{Ledger: i.ledger}).TakeFile(ctx, i.ledger, in, i.now())
	return ingest.Imported{Batches: taken.Batches, Reports: taken.Reports, Clusters: taken.Clusters}, err
}

// serverImport sends files to a server.
type serverImport struct{ client *client.Client }

// Facts refuses: the facts include tokens and registrations, which a server does not accept over the network.
func (i *serverImport) Facts(context.Context, io.Reader) error {
	return cli.Failed(errors.New("a server accepts only signed reports"), "import exported facts into the ledger itself, with --ledger")
}

// Check implements [importer].
func (i *serverImport) Check(io.Reader) error { return nil }

// maxSent bounds a file for a server, in bytes.
const maxSent = 64 << 20

// Signed implements [importer].
func (i *serverImport) Signed(ctx context.Context, in io.Reader) (taken ingest.Imported, err error) {
	file, err := io.ReadAll(io.LimitReader(in, maxSent+1))
	switch {
	case err != nil:
		return taken, err
	case len(file) > maxSent:
		return taken, cli.Failed(fmt.Errorf("the file is larger than %d MiB", maxSent>>20), "split its lines into several files")
	}
	err = backend.Hint(i.client.PostFile(ctx, "reports/file", "application/x-ndjson", file, &taken))
	return taken, err
}

// isSigned reports whether a file has signed reports, by the name of its first field.
func isSigned(in *bufio.Reader) bool {
	// An error, such as the end of the file, occurs again when the file is read.
	beginning, _ := in.Peek(in.Size())
	tokens := json.NewDecoder(bytes.NewReader(beginning))
	if brace, err := tokens.Token(); err != nil || brace != json.Delim('{') {
		return false
	}
	first, _ := tokens.Token()
	return first == "payloadType" || first == "payload" || first == "signatures"
}
