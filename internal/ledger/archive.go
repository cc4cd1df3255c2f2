package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Entry is one line of an exported ledger. Exactly one field is set.
type Entry struct {
	Registration *Registration `json:"registration,omitempty"`
	Heartbeat    *Heartbeat    `json:"heartbeat,omitempty"`
	Clock        *Clock        `json:"clock,omitempty"`
	Token        *Token        `json:"token,omitempty"`
	Commit       *Commit       `json:"commit,omitempty"`
	Report       *Report       `json:"report,omitempty"`
	Step         *Step         `json:"step,omitempty"`
	Change       *ChangeEvent  `json:"change,omitempty"`
	Audit        *AuditEntry   `json:"audit,omitempty"`
}

// Heartbeat is when a cluster last reported.
type Heartbeat struct {
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"`
}

// Compaction selects what [Archive.Compact] deletes: observations before a time that only confirm the one before.
type Compaction struct {
	Before time.Time
	// Drop deletes transitions, too: the history of each reconciler then begins with its state at Before.
	Drop bool
}

const (
	// MinRetention is the least retention. Reports may arrive late.
	MinRetention = 24 * time.Hour
	// confirmationsKept is how long observations that only confirm the one before are kept.
	confirmationsKept = 24 * time.Hour
)

// Retain deletes old confirmations and, if retention is not zero, transitions that ended longer ago. It returns how many rows it deleted,
// also with an error.
func Retain(ctx context.Context, a Archive, retention time.Duration, now time.Time) (removed int64, err error) {
	removed, err = a.Compact(ctx, Compaction{Before: now.Add(-confirmationsKept)})
	if err != nil || retention == 0 {
		return removed, err
	}
	n, err := a.Compact(ctx, Compaction{Before: now.Add(-max(retention, MinRetention)), Drop: true})
	return removed + n, err
}

// Export writes the whole ledger as JSON lines.
func Export(ctx context.Context, a Archive, w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	if err := a.Entries(ctx, func(e Entry) error { return enc.Encode(e) }); err != nil {
		return fmt.Errorf("export ledger: %w", err)
	}
	return buffered.Flush()
}

// Recorder is what [Import] writes to.
type Recorder interface {
	Intake
	Clusters
	Clocks
	Tokens
	Desired
	Promotions
	Changes
	Audits
}

const (
	// importBatch is how many reports are recorded in one call.
	importBatch = 5000
	// maxLine limits a line; the longest are commits with 100,000 assignments.
	maxLine = 256 << 20
)

// Import adds exported entries to a ledger. Entries that exist are skipped, so that an import can be repeated and ledgers can be
// merged. It stops at the first invalid line; the error has its number.
func Import(ctx context.Context, to Recorder, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	in := importer{to: to}
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := in.line(ctx, line); err != nil {
			return fmt.Errorf("import line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("import line %d: %w", n+1, err)
	}
	if err := in.flush(ctx); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// importer collects reports to record many at once.
type importer struct {
	to      Recorder
	reports []Report
}

func (i *importer) line(ctx context.Context, line []byte) error {
	var e Entry
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return errors.Join(ErrInvalid, err)
	}
	if e.Report != nil {
		if err := e.Report.Check(); err != nil {
			return err
		}
		if i.reports = append(i.reports, *e.Report); len(i.reports) < importBatch {
			return nil
		}
		return i.flush(ctx)
	}
	return record(ctx, i.to, e)
}

func (i *importer) flush(ctx context.Context) error {
	if len(i.reports) == 0 {
		return nil
	}
	err := i.to.Report(ctx, i.reports...)
	i.reports = i.reports[:0]
	return err
}

func record(ctx context.Context, to Recorder, e Entry) error {
	switch {
	case e.Registration != nil:
		return to.Register(ctx, *e.Registration)
	case e.Heartbeat != nil:
		return to.Heard(ctx, e.Heartbeat.Cluster, e.Heartbeat.At)
	case e.Clock != nil:
		return to.NoteClock(ctx, *e.Clock)
	case e.Token != nil:
		return to.PutToken(ctx, *e.Token)
	case e.Commit != nil:
		return to.RecordCommit(ctx, *e.Commit)
	case e.Step != nil:
		return to.RecordStep(ctx, *e.Step)
	case e.Change != nil:
		return to.RecordChange(ctx, *e.Change)
	case e.Audit != nil:
		return to.RecordAudit(ctx, *e.Audit)
	}
	return fmt.Errorf("%w: unknown kind of entry", ErrInvalid)
}
