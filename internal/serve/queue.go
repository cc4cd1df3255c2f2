package serve

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// queue has two lanes with workers of their own: what applications and pull requests make the server read and render does not
// delay environments. It contains equal items only once.
type queue struct {
	environments, others workqueue.TypedRateLimitingInterface[item]
}

func newQueue() *queue {
	lane := func() workqueue.TypedRateLimitingInterface[item] {
		return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstRetry, lastRetry))
	}
	return &queue{environments: lane(), others: lane()}
}

// of returns the lane of an item.
func (q *queue) of(i item) workqueue.TypedRateLimitingInterface[item] {
	switch i.task {
	case doPreview, listApplications, doDeliver, doFollow:
		return q.others
	}
	return q.environments
}

// Add enqueues an item.
func (q *queue) Add(i item) { q.of(i).Add(i) }

// AddAfter enqueues an item after a delay.
func (q *queue) AddAfter(i item, d time.Duration) { q.of(i).AddAfter(i, d) }

// Len returns the number of items that wait.
func (q *queue) Len() int { return q.environments.Len() + q.others.Len() }

// ShutDown ends both lanes.
func (q *queue) ShutDown() {
	q.environments.ShutDown()
	q.others.ShutDown()
}
