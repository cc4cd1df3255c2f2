package deliver_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// BenchmarkDraft renders, compares and checks 100 targets of a chart with 20 manifests: from scratch, with another
// image for all, and with one value changed for one target.
func BenchmarkDraft(b *testing.B) {
	request := func(version string) deliver.DraftRequest {
		return deliver.DraftRequest{
			Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev", Build: deliver.Build{Version: version, Image: version},
		}
	}
	draft := func(b *testing.B, d *deliver.Drafter, w deliver.DraftRequest, changed int) *deliver.Draft {
		b.Helper()
		draft, err := d.Draft(context.Background(), w)
		if err != nil {
			b.Fatal(err)
		}
		if c := draft.Plan.Counts; c.Added+c.Changed != changed || c.Held > 0 {
			b.Fatalf("got %+v, want %d changed", c, changed)
		}
		return draft
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			draft(b, &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: shop(100, 20), Charts: localCharts{}}}, request("1.0.0"), 100)
		}
	})
	b.Run("another image", func(b *testing.B) {
		r := shop(100, 20)
		d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
		r.publish(draft(b, d, request("1.0.0"), 100))
		for b.Loop() {
			_ = draft(b, d, request("1.1.0"), 100).Markdown(deliver.MarkdownOptions{Limit: 65_000})
		}
	})
	b.Run("one value", func(b *testing.B) {
		r := shop(100, 20)
		d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}, Memory: &deliver.Memory{}}
		r.publish(draft(b, d, request("1.0.0"), 100))
		n := 0
		for b.Loop() {
			n++
			r["https://git.example/shop-configs dev"]["region/t007/values.yaml"] = fmt.Sprintf("replicas: %d\n", 1000+n)
			draft(b, d, request("1.0.0"), 1)
		}
	})
}
