package reconciler

import (
	"fmt"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stored is an informer that has been filled; nothing else of it is used.
type stored struct {
	cache.SharedIndexInformer
	store cache.Store
}

func (s stored) HasSynced() bool       { return true }
func (s stored) GetStore() cache.Store { return s.store }

func filled(objects ...*unstructured.Unstructured) *informer {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, o := range objects {
		_ = store.Add(o) // it has a name
	}
	return &informer{SharedIndexInformer: stored{store: store}}
}

// A snapshot is made for every change, and so has to cost little even where there are many reconcilers.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{50, 1000} {
		b.Run(fmt.Sprintf("reconcilers=%d", n), func(b *testing.B) {
			var all []*unstructured.Unstructured
			for i := range n {
				k := kustomize("True")
				k.SetName(fmt.Sprintf("app-%04d", i))
				all = append(all, k)
			}
			w := NewWatcher(nil, nil, nil, slog.New(slog.DiscardHandler))
			w.informers = map[schema.GroupResource]*informer{
				gits.GroupResource(): filled(git()), kustomizes.GroupResource(): filled(all...),
			}
			b.ReportAllocs()
			for b.Loop() {
				if s := w.Snapshot(); len(s.Reports) != n {
					b.Fatalf("got %d reports", len(s.Reports))
				}
			}
		})
	}
}
