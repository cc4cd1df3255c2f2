package access

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Trail records the writes of users and programs.
type Trail struct {
	Store interface {
		RecordAudit(ctx context.Context, e ledger.AuditEntry) error
	} // required
	// Now returns the time. Default: [time.Now].
	Now func() time.Time
}

// maxDetail limits the texts of an entry, in bytes.
const maxDetail = 1024

// Record records a write, before it is done. If that fails, the write must not be done.
func (t Trail) Record(ctx context.Context, by Identity, action, subject, detail string) error {
	now := time.Now
	if t.Now != nil {
		now = t.Now
	}
	err := t.Store.RecordAudit(ctx, ledger.AuditEntry{
		At: now(), By: by.String(), Action: action, Subject: bounded(subject), Detail: bounded(detail), Address: by.Address,
	})
	if err != nil {
		return fmt.Errorf("record %q in the audit trail: %w", action, err)
	}
	return nil
}

func bounded(text string) string { return cut(secret.Line(text), maxDetail) }
