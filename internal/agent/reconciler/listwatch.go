package reconciler

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// page is how many objects are read at once. Each may be large before it is trimmed, and memory is small.
const page = 50

func listWatch(of dynamic.ResourceInterface) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			// An API server ignores the limit when it answers from its cache, which is what version 0 asks for.
			if options.ResourceVersion == "0" {
				options.ResourceVersion = ""
			}
			options.Limit = page
			return of.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return of.Watch(ctx, options)
		},
	}
}
