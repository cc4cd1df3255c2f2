package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// lists are all paged queries. Their answers are formatted for comparison.
func lists(o *query.Observer) map[string]func(context.Context, query.Paging) ([]string, string, error) {
	return map[string]func(context.Context, query.Paging) ([]string, string, error){
		"environments": list(func(ctx context.Context, p query.Paging) (query.Page[query.Environment], error) {
			return o.Environments(ctx, query.EnvironmentsQuery{Paging: p})
		}),
		"workloads": list(func(ctx context.Context, p query.Paging) (query.Page[query.Workload], error) {
			return o.Workloads(ctx, query.WorkloadsQuery{Paging: p})
		}),
		"targets": list(func(ctx context.Context, p query.Paging) (query.Page[query.Target], error) {
			return o.Targets(ctx, query.TargetsQuery{Paging: p})
		}),
		"assignments": list(func(ctx context.Context, p query.Paging) (query.Page[query.Assignment], error) {
			return o.Assignments(ctx, query.AssignmentsQuery{Environment: "prod", Paging: p})
		}),
		"matrix": list(func(ctx context.Context, p query.Paging) (query.Page[query.Row], error) {
			m, err := o.Matrix(ctx, query.AssignmentsQuery{Environment: "prod", Paging: p})
			return query.Page[query.Row]{Items: m.Rows, Next: m.Next}, err
		}),
		"clusters": list(func(ctx context.Context, p query.Paging) (query.Page[query.Cluster], error) {
			return o.Clusters(ctx, query.ClustersQuery{Paging: p})
		}),
		"clusters behind": list(func(ctx context.Context, p query.Paging) (query.Page[query.Cluster], error) {
			return o.Clusters(ctx, query.ClustersQuery{State: "behind", Paging: p})
		}),
		"reconcilers": list(func(ctx context.Context, p query.Paging) (query.Page[query.Reconciler], error) {
			return o.Reconcilers(ctx, query.ReconcilersQuery{Paging: p})
		}),
		"reconcilers of the past": list(func(ctx context.Context, p query.Paging) (query.Page[query.Reconciler], error) {
			return o.Reconcilers(ctx, query.ReconcilersQuery{AsOf: day(630), Paging: p})
		}),
		"versions": list(func(ctx context.Context, p query.Paging) (query.Page[query.Version], error) {
			return o.Versions(ctx, query.VersionsQuery{Paging: p})
		}),
		"discrepancies": list(func(ctx context.Context, p query.Paging) (query.Page[query.Discrepancy], error) {
			return o.Discrepancies(ctx, query.DiscrepanciesQuery{Paging: p})
		}),
		"promotions": list(func(ctx context.Context, p query.Paging) (query.Page[query.Promotion], error) {
			return o.Promotions(ctx, query.PromotionsQuery{Paging: p})
		}),
		"history": list(func(ctx context.Context, p query.Paging) (query.Page[query.Event], error) {
			return o.History(ctx, query.HistoryQuery{Audits: true, Paging: p})
		}),
		"history of an environment": list(func(ctx context.Context, p query.Paging) (query.Page[query.Event], error) {
			return o.History(ctx, query.HistoryQuery{Environment: "prod", Audits: true, Paging: p})
		}),
		"history of a cluster": list(func(ctx context.Context, p query.Paging) (query.Page[query.Event], error) {
			return o.History(ctx, query.HistoryQuery{Cluster: "large-1", Paging: p})
		}),
	}
}

func list[T any](ask func(context.Context, query.Paging) (query.Page[T], error)) func(context.Context, query.Paging) ([]string, string, error) {
	return func(ctx context.Context, p query.Paging) ([]string, string, error) {
		page, err := ask(ctx, p)
		var items []string
		for _, item := range page.Items {
			text, _ := json.Marshal(item)
			items = append(items, string(text))
		}
		return items, page.Next, err
	}
}

func day(minutes int) time.Time {
	return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// randomFacts records facts of a few minutes, so that many of them have the same time.
func randomFacts(r *rapid.T, w *world) {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(r, "pick") }
	for range rapid.IntRange(5, 30).Draw(r, "facts") {
		at := "10:0" + pick("0", "1", "2")
		cluster, environment, commit := "large-"+pick("1", "2", "3"), pick("dev", "prod"), pick("a", "b", "c")
		w.fact(at + " " + pick(
			"register "+cluster+" "+environment+"/"+pick("large", "small"),
			"platform "+environment+" a"+commit+" c"+commit+" large/shop-east small/shop-east small/art-main",
			"application "+pick("shop", "art")+" "+environment+" b"+commit+" east="+pick("1", "2")+" main=1",
			"report "+cluster+" "+environment+" "+pick("platform a"+commit, "shop/east b"+commit, "art/main b"+commit)+" "+pick("ready", "failed")+" why",
			"step "+environment+" c"+commit+" "+pick("started", "deployed", "stateChanged")+" - - because",
			"change platform-gitops "+pick("1", "2")+" opened title",
			"audit ann pause "+pick("dev", "prod"),
		))
	}
	w.fact("10:00 register large-1 prod/large")
	w.fact("10:00 step prod c1 started - - first")
}

// TestPagesAddUpToTheList checks that the pages of a list, of any size, add up to the list without duplicates or gaps,
// and that the same query has the same answer.
func TestPagesAddUpToTheList(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		randomFacts(r, w)
		o := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return day(660) }}
		size := rapid.IntRange(1, 5).Draw(r, "size")
		for name, ask := range lists(o) {
			whole, next, err := ask(t.Context(), query.Paging{Limit: query.MaxLimit})
			if err != nil || next != "" {
				r.Fatalf("%s: next %q, %v", name, next, err)
			}
			var pages []string
			p := query.Paging{Limit: size}
			for {
				items, next, err := ask(t.Context(), p)
				if err != nil || len(items) > size || len(items) == 0 && next != "" && name != "reconcilers of the past" {
					r.Fatalf("%s: page of %d items, next %q, %v", name, len(items), next, err)
				}
				pages = append(pages, items...)
				if next == "" {
					break
				}
				if next == p.After || len(pages) > len(whole)+size {
					r.Fatalf("%s: the pages do not end", name)
				}
				p.After = next
			}
			if diff := cmp.Diff(whole, pages); diff != "" {
				r.Fatalf("%s (-whole +pages):\n%s", name, diff)
			}
		}
		for _, question := range []string{"compare A=dev B=prod", "environment Name=prod", "figures", "cluster Name=large-1"} {
			if diff := cmp.Diff(answer(t, o, question), answer(t, o, question)); diff != "" {
				r.Fatalf("%s (-first +second):\n%s", question, diff)
			}
		}
	})
}

// TestEqualSummariesKeepTheirOrder checks that rollouts of two branches with the same summary keep their order when the
// number of reconcilers changes.
func TestEqualSummariesKeepTheirOrder(t *testing.T) {
	w := newWorld(t)
	for _, cluster := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		w.fact("10:00 register large-" + cluster + " prod/large")
		w.fact("10:00 audit ann" + cluster + " pause dev")
	}
	w.fact("10:00 report large-1 dev shop/east bb failed why")
	w.fact("10:00 report large-2 prod shop/east bb failed why")
	w.fact("10:01 report large-1 dev shop/east bc ready why")
	o := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return day(660) }}
	whole, err := o.History(t.Context(), query.HistoryQuery{Audits: true})
	if err != nil {
		t.Fatal(err)
	}
	for size := range 12 {
		var pages []query.Event
		for p := (query.Paging{Limit: size + 1}); ; {
			page, err := o.History(t.Context(), query.HistoryQuery{Audits: true, Paging: p})
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page.Items...)
			if p.After = page.Next; p.After == "" {
				break
			}
		}
		if diff := cmp.Diff(whole.Items, pages, cmpopts.IgnoreUnexported(query.Event{})); diff != "" {
			t.Errorf("pages of %d (-whole +pages):\n%s", size+1, diff)
		}
	}
}

// TestHostilePlaces checks that an invalid place gives an error or another page, and that the next place stays short.
func TestHostilePlaces(t *testing.T) {
	w := newWorld(t)
	w.fact("10:00 register large-1 prod/large")
	w.fact("10:01 platform prod a1 c1 large/shop-east")
	o := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return day(660) }}
	for name, ask := range lists(o) {
		for _, after := range []string{"x", "eA", "////", "AAAA", "_____w", fmt.Sprintf("%05000d", 1)} {
			if _, next, _ := ask(t.Context(), query.Paging{After: after, Limit: 1 << 40}); len(next) > 2048 {
				t.Errorf("%s after %q: a place of %d bytes", name, after, len(next))
			}
		}
	}
}
