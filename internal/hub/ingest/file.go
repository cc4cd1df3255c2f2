package ingest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// maxLine limits a signed batch; base64 makes four bytes of three.
const maxLine = hub.MaxReportedBytes/3*4 + 64<<10

// Imported summarizes a report file.
type Imported struct {
	Batches int `json:"batches"`
	Reports int `json:"reports"`
	// Clusters are the senders, sorted.
	Clusters []string `json:"clusters"`
}

// TakeFile stores a report file that was carried by hand. Each line is a batch, signed with the key of a registered
// cluster. It stops at the first invalid line; the error has its number. The lines before it are stored, and may be imported again.
//
// The cluster's last report is the time when the file was written, not when it arrived.
func (i *Intake) TakeFile(ctx context.Context, clusters ledger.Clusters, file io.Reader, now time.Time) (Imported, error) {
	done := Imported{Clusters: []string{}}
	keys, err := reportKeys(ctx, clusters)
	if err != nil {
		return done, err
	}
	from := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		batch, err := i.takeLine(ctx, line, keys, now)
		if err != nil {
			return done, fmt.Errorf("line %d: %w", n, err)
		}
		done.Batches++
		done.Reports += len(batch.Reports)
		from[batch.Cluster] = true
		done.Clusters = slices.Sorted(maps.Keys(from))
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return done, refuse(ErrTooLarge, "line %d has more than %d bytes", n+1, maxLine)
	} else if err != nil {
		return done, fmt.Errorf("read line %d: %w", n+1, err)
	}
	return done, nil
}

func (i *Intake) takeLine(ctx context.Context, line []byte, keys map[string]reportKey, now time.Time) (*hub.ReportBatch, error) {
	batch, err := hub.OpenReports(line, func(id string) (string, ed25519.PublicKey, bool) {
		k, ok := keys[id]
		return k.cluster, k.key, ok
	})
	if err != nil {
		return nil, refuse(ErrDenied, "%s", oneLine(err.Error(), 600))
	}
	if err := batch.Check(); err != nil {
		return nil, refuse(ErrInvalid, "%v", err)
	}
	// A file is always late, even without reports: it can show that a clock is ahead, but not that it is behind.
	clock, err := i.clockOf(ctx, arrival{batch.Cluster, batch.Sent, now, append(observed(batch.Reports), batch.Sent)})
	if err != nil {
		return nil, err
	}
	heard := clock.correct(batch.Sent)
	if heard.After(now) {
		heard = now
	}
	return batch, i.store(ctx, batch.Cluster, batch.Reports, clock, heard)
}

// reportKey verifies the report files of a cluster.
type reportKey struct {
	cluster string
	key     ed25519.PublicKey
}

// reportKeys returns the keys of all registered clusters by key ID.
func reportKeys(ctx context.Context, clusters ledger.Clusters) (map[string]reportKey, error) {
	all, err := clusters.Clusters(ctx, ledger.ClusterQuery{})
	if err != nil {
		return nil, err
	}
	keys := map[string]reportKey{}
	for _, c := range all {
		if !c.Registered || c.Registration.PublicKey == "" {
			continue
		}
		key, err := hub.ParseReportPublicKey([]byte(c.Registration.PublicKey))
		if err != nil {
			continue // an unusable key must not block files of other clusters
		}
		keys[hub.KeyID(key)] = reportKey{c.Name, key}
	}
	return keys, nil
}
