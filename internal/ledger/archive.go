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
	Export       *Header       `json:"export,omitempty"`
	Registration *Registration `json:"registration,omitempty"`
	Heartbeat    *Heartbeat    `json:"heartbeat,omitempty"`
	Silence      *Silence      `json:"silence,omitempty"`
	Clock        *Clock        `json:"clock,omitempty"`
	Token        *Token        `json:"token,omitempty"`
	Commit       *Commit       `json:"commit,omitempty"`
	Report       *Report       `json:"report,omitempty"`
	Step         *Step         `json:"step,omitempty"`
	Change       *ChangeEvent  `json:"change,omitempty"`
	Audit        *AuditEntry   `json:"audit,omitempty"`
	End          *End          `json:"end,omitempty"`
}

// Heartbeat is when a cluster last reported.
type Heartbeat struct {
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"`
}

// Compaction selects what [Archive.Compact] deletes: observations before a time that only confirm the one before.
type Compaction struct {
	Before time.Time
	// Drop deletes transitions, too: the history of each reconciler then begins with its state at Before, or with the last
	// [KeptRevisions] revisions that it followed, if those began earlier. Silences stay as long as the history of their cluster.
	Drop bool
}

// KeptRevisions is of how many revisions of a reconciler the history is kept in any case. Whether a commit may be promoted, or returned
// to, depends on how it ran for as long as it was there, which can be longer ago than any retention.
const KeptRevisions = 10

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

// ExportFormat is the format of exports. The first one had no line that names it, and other words for the steps of promotions; the second one
// had other words for the states of commits.
const ExportFormat = 3

// Header is the first line of an export.
type Header struct {
	Format int `json:"format"`
}

// End is the last line of an export. Without it, the export is cut.
type End struct {
	// Facts is how many lines are between the first and the last.
	Facts int `json:"facts"`
}

// Export writes the whole ledger as JSON lines.
func Export(ctx context.Context, a Archive, w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	facts := 0
	err := enc.Encode(Entry{Export: &Header{ExportFormat}})
	if err == nil {
		err = a.Entries(ctx, func(e Entry) error {
			facts++
			return enc.Encode(e)
		})
	}
	if err == nil {
		err = enc.Encode(Entry{End: &End{facts}})
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("export ledger: %w", err)
	}
	return nil
}

// Recorder is what [Import] writes to.
type Recorder interface {
	Restorer
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

// Errors about exports. Match with [errors.Is].
var (
	// ErrCut means that an export does not have all its lines.
	ErrCut = errors.New("the export is incomplete")
	// ErrEarlierFormat means that a version made an export from which it cannot be seen whether it is complete.
	ErrEarlierFormat = errors.New("an earlier version made this export, or it lacks its first line")
)

// Import adds exported entries to a ledger. Entries that exist are skipped, so that an import can be repeated and ledgers can be
// merged. Several exports can follow each other. It stops at the first invalid line; the error has its number, and says how many entries
// were added before. [CheckExport] finds out before anything is added whether an export is complete.
func Import(ctx context.Context, to Recorder, r io.Reader) error {
	in := importer{to: to}
	err := eachLine(r, func(line []byte) error { return in.line(ctx, line) })
	// What came before an invalid line is added.
	if ferr := in.flush(ctx); ferr != nil {
		return fmt.Errorf("import: %w", errors.Join(err, ferr))
	}
	if err == nil {
		err = in.frame.end()
	}
	if err != nil {
		return fmt.Errorf("import %w (added before: %d)", err, in.added)
	}
	return nil
}

// CheckExport returns an error if exports are cut, or of another format. It reads only the first and last line of each, and counts the others.
func CheckExport(r io.Reader) error {
	var f frame
	err := eachLine(r, func(line []byte) error {
		var e Entry
		if len(line) <= maxFrame {
			if err := decode(line, &e); err != nil {
				return err
			}
		}
		_, err := f.line(e)
		return err
	})
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return fmt.Errorf("import %w", err)
	}
	return nil
}

// maxFrame is longer than the first and last line of any export, and shorter than most others.
const maxFrame = 64

// eachLine calls do with each line that is not empty. Errors have the number of the line.
func eachLine(r io.Reader, do func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := do(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// frame follows the first and last lines of exports.
type frame struct {
	open   bool
	ended  int // exports
	format int // of the open one
	facts  int // of the open one
}

// line reports whether an entry is a fact.
func (f *frame) line(e Entry) (fact bool, err error) {
	switch {
	case e.Export != nil && f.open:
		return false, fmt.Errorf("%w: another one begins before its last line", ErrCut)
	case e.Export != nil && e.Export.Format > ExportFormat:
		return false, fmt.Errorf("%w: format %d is newer than this program, which knows up to %d", ErrInvalid, e.Export.Format, ExportFormat)
	case e.Export != nil && e.Export.Format >= formatBeforeStates:
		f.open, f.format, f.facts = true, e.Export.Format, 0
		return false, nil
	case !f.open:
		return false, fmt.Errorf("%w: %w", ErrInvalid, ErrEarlierFormat)
	case e.End != nil && e.End.Facts != f.facts:
		return false, fmt.Errorf("%w: it has %d facts, and its last line counts %d", ErrCut, f.facts, e.End.Facts)
	case e.End != nil:
		f.open = false
		f.ended++
		return false, nil
	}
	f.facts++
	return true, nil
}

// end returns an error if an export is open, or if there was none.
func (f *frame) end() error {
	if f.open || f.ended == 0 {
		return fmt.Errorf("%w: its last line is missing", ErrCut)
	}
	return nil
}

func decode(line []byte, e *Entry) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e); err != nil {
		return errors.Join(ErrInvalid, err)
	}
	return nil
}

// importer collects reports to record many at once.
type importer struct {
	to      Recorder
	frame   frame
	reports []Report
	added   int
}

func (i *importer) line(ctx context.Context, line []byte) error {
	var e Entry
	if err := decode(line, &e); err != nil {
		return err
	}
	if fact, err := i.frame.line(e); err != nil || !fact {
		return err
	}
	e.convert(i.frame.format)
	if e.Report != nil {
		if err := e.Report.Check(); err != nil {
			return err
		}
		if i.reports = append(i.reports, *e.Report); len(i.reports) < importBatch {
			return nil
		}
		return i.flush(ctx)
	}
	err := record(ctx, i.to, e)
	if err == nil {
		i.added++
	}
	return err
}

func (i *importer) flush(ctx context.Context) error {
	if len(i.reports) == 0 {
		return nil
	}
	err := i.to.Restore(ctx, Restored{Reports: i.reports})
	if err == nil {
		i.added += len(i.reports)
	}
	i.reports = i.reports[:0]
	return err
}

func record(ctx context.Context, to Recorder, e Entry) error {
	switch {
	case e.Registration != nil:
		return to.Register(ctx, *e.Registration)
	case e.Heartbeat != nil:
		return to.Restore(ctx, Restored{Heartbeats: []Heartbeat{*e.Heartbeat}})
	case e.Silence != nil:
		return to.Restore(ctx, Restored{Silences: []Silence{*e.Silence}})
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
