package reconciler

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// page is how many objects are read at once: they can be large before they are trimmed.
const page = 50

// listWatch lists and watches objects of a kind. Client-go collects the pages of a list before it stores their objects, so they are
// trimmed page by page.
func listWatch(of dynamic.ResourceInterface, k Kind) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			// An API server ignores the limit for version 0, because it then answers from its cache.
			if options.ResourceVersion == "0" {
				options.ResourceVersion = ""
			}
			options.Limit, options.LabelSelector = page, k.selector
			list, err := of.List(ctx, options)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				list.Items[i] = *trim(&list.Items[i], k)
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = k.selector
			return of.Watch(ctx, options)
		},
	}
}
