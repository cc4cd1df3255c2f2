package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

// The clusters of [Hour].
const (
	// roundsOfHour is how often each cluster reports in an hour.
	roundsOfHour = 6
	// newsEvery is the number of clusters of which one has news in a round. The others repeat what they reported before.
	newsEvery = 100
	// senders is how many clusters report at the same time.
	senders = 64
)

// Hour fills a ledger. Then each cluster reports for the first time, which measures news, and every ten minutes for an hour, as fast as
// the ledger takes the reports: the metric "times-real" is how many simulated seconds pass in one. bytes returns the size of the database.
func Hour(b *testing.B, store *relational.Store, bytes func() int64) {
	b.Helper()
	clusters, reconcilers := Fill(b, store), reconcilersEach(b)
	// The benchmark may be called again: the next call goes on with the next round.
	round := 0
	report := func(b *testing.B) (perSecond float64) {
		b.Helper()
		began := time.Now()
		reportAll(b, store, clusters, reconcilers, round)
		round++
		return float64(clusters*reconcilers) / time.Since(began).Seconds()
	}
	b.Run(fmt.Sprintf("first reports/clusters=%d", clusters), func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(report(b), "reports/s")
		}
	})
	b.Run(fmt.Sprintf("hour/clusters=%d", clusters), func(b *testing.B) {
		for b.Loop() {
			began, slowest := time.Now(), 0.0
			for range roundsOfHour {
				if perSecond := report(b); slowest == 0 || perSecond < slowest {
					slowest = perSecond
				}
			}
			took := time.Since(began).Seconds()
			b.ReportMetric(float64(roundsOfHour*clusters*reconcilers)/took, "reports/s")
			b.ReportMetric(slowest, "reports/s-slowest-round")
			b.ReportMetric(time.Hour.Seconds()/took, "times-real")
			b.ReportMetric(float64(bytes())/1e6, "MB")
		}
	})
}

// reportAll lets each cluster report once.
func reportAll(b *testing.B, l ledger.Ledger, clusters, reconcilers, round int) {
	b.Helper()
	var next atomic.Int64
	var wait sync.WaitGroup
	for range senders {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(clusters); n = next.Add(1) {
				cluster := int(n * stride % int64(clusters))
				if err := l.Report(context.Background(), roundReports(cluster, reconcilers, round)...); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// roundReports returns what a cluster reports in a round: what it observed in the last round in which it had news.
func roundReports(cluster, reconcilers, round int) []ledger.Report {
	news := round
	for news > 0 && (cluster+news)%newsEvery != 0 {
		news--
	}
	reports := clusterReports(cluster, reconcilers, fmt.Sprintf("h%d", news), roundTime(news))
	for i := range reports {
		reports[i].Received = roundTime(round)
	}
	return reports
}

// roundTime returns the time of a round.
func roundTime(round int) time.Time {
	return benchFrom.Add(time.Duration(round) * time.Hour / roundsOfHour)
}
