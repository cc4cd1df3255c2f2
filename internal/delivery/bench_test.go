package delivery_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/delivery"
)

// BenchmarkDraft renders, compares and checks 100 targets of a chart with 20 manifests: all of them anew, all with another image,
// and with one value changed for one target.
func BenchmarkDraft(b *testing.B) {
	wish := func(version string) delivery.Wish {
		return delivery.Wish{
			Request: delivery.Request{Source: "https://git.example/shop"}, Environment: "dev", Build: delivery.Build{Version: version, Image: version},
		}
	}
	draft := func(b *testing.B, d *delivery.Drafter, w delivery.Wish, changed int) *delivery.Draft {
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
			draft(b, &delivery.Drafter{Loader: &delivery.Loader{Repositories: shop(100, 20), Charts: localCharts{}}}, wish("1.0.0"), 100)
		}
	})
	b.Run("another image", func(b *testing.B) {
		r := shop(100, 20)
		d := &delivery.Drafter{Loader: &delivery.Loader{Repositories: r, Charts: localCharts{}}}
		r.publish(draft(b, d, wish("1.0.0"), 100))
		for b.Loop() {
			_ = draft(b, d, wish("1.1.0"), 100).Markdown(delivery.MarkdownOptions{Limit: 65_000})
		}
	})
	b.Run("one value", func(b *testing.B) {
		r := shop(100, 20)
		d := &delivery.Drafter{Loader: &delivery.Loader{Repositories: r, Charts: localCharts{}}, Memory: &delivery.Memory{}}
		r.publish(draft(b, d, wish("1.0.0"), 100))
		n := 0
		for b.Loop() {
			n++
			r["https://git.example/shop-configs dev"]["region/t007/values.yaml"] = fmt.Sprintf("replicas: %d\n", 1000+n)
			draft(b, d, wish("1.0.0"), 1)
		}
	})
}
