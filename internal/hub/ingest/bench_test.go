package ingest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
)

// each is how many reconcilers a cluster of the benchmarks has.
const each = 50

// body is a batch of all reconcilers of a cluster, as an agent sends it.
func body(b *testing.B, round int) []byte {
	b.Helper()
	observed := after(time.Duration(round) * time.Minute)
	reports := make([]hub.Report, each)
	for i := range reports {
		reports[i] = report(fmt.Sprintf("app-%d", i), round, hub.StateReady, observed.Add(time.Duration(i)*time.Millisecond))
		reports[i].Repository = fmt.Sprintf("https://git.example.com/gitops-%d.git", i)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := json.NewEncoder(z).Encode(batch(observed.Add(time.Second), reports...)); err != nil {
		b.Fatal(err)
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	return packed.Bytes()
}

// BenchmarkTake is what a server does with the bodies of reports: unpack, read, check, correct, and store on disk.
// 500 clusters send at once: news in every round, or the same again and again.
func BenchmarkTake(b *testing.B) {
	const clusters = 500
	for _, bench := range []struct {
		name string
		step int
	}{{"news", 1}, {"duplicates", 0}} {
		b.Run(fmt.Sprintf("%s/clusters=%d", bench.name, clusters), func(b *testing.B) {
			intake := &ingest.Intake{Ledger: openLedger(b)}
			round := 0
			sendAll(b, intake, clusters, body(b, 0), 0)
			for b.Loop() {
				round += bench.step
				sendAll(b, intake, clusters, body(b, round), round)
			}
			b.ReportMetric(float64(b.N*clusters*each)/b.Elapsed().Seconds(), "reports/s")
		})
	}
}

// sendAll sends a body from every cluster; some of them arrive at once.
func sendAll(b *testing.B, intake *ingest.Intake, clusters int, body []byte, round int) {
	b.Helper()
	const senders = 16
	arrives := after(time.Duration(round)*time.Minute + 2*time.Second)
	failed := make(chan error, senders)
	for s := range senders {
		go func() {
			var err error
			for n := s; n < clusters && err == nil; n += senders {
				err = send(b, intake, fmt.Sprintf("cluster-%d", n), body, arrives)
			}
			failed <- err
		}()
	}
	for range senders {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
}

func send(b *testing.B, intake *ingest.Intake, cluster string, body []byte, arrives time.Time) error {
	text, err := ingest.ReadBody(bytes.NewReader(body), "gzip")
	if err != nil {
		return err
	}
	batch, err := ingest.ParseBatch(text)
	if err != nil {
		return err
	}
	_, err = intake.Take(b.Context(), cluster, batch, arrives)
	return err
}
