package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// messageMetrics are the metrics of messages to receivers.
type messageMetrics struct{ attempts *prometheus.HistogramVec }

func newMessageMetrics(r prometheus.Registerer) *messageMetrics {
	m := &messageMetrics{attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kalypso_message_attempt_duration_seconds", Help: "How long attempts to send messages took, by receiver and result.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 15},
	}, []string{"receiver", "result"})}
	r.MustRegister(m.attempts)
	return m
}

// MessageSent counts an attempt to send a message.
func (m *Metrics) MessageSent(msg ledger.Message, took time.Duration, err error) {
	if m == nil {
		return
	}
	result := "delivered"
	if err != nil {
		result = "failed"
	}
	m.messages.attempts.WithLabelValues(msg.Receiver, result).Observe(took.Seconds())
}

// Outbox is the part of the ledger that has the messages.
type Outbox interface {
	Receivers(ctx context.Context) ([]ledger.Receiver, error)
}

// OutboxMetrics exports how many messages are in each state. All servers of a ledger export the same.
type OutboxMetrics struct {
	// Outbox is read for each scrape. // required
	Outbox Outbox
}

// outboxTimeout limits the reading of the outbox for a scrape.
const outboxTimeout = 5 * time.Second

var outboxMessages = prometheus.NewDesc("kalypso_messages",
	"Messages in the outbox, by receiver and state: pending, delivered, dead or dropped.", []string{"receiver", "state"}, nil)

// Describe implements [prometheus.Collector].
func (*OutboxMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- outboxMessages }

// Collect implements [prometheus.Collector].
func (o *OutboxMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, end := context.WithTimeout(context.Background(), outboxTimeout)
	defer end()
	receivers, err := o.Outbox.Receivers(ctx)
	if err != nil {
		return // a ledger that cannot be read has other signs, and must not hide the other metrics
	}
	for _, r := range receivers {
		for state, n := range map[ledger.MessageState]int{
			ledger.MessagePending: r.Pending, ledger.MessageDelivered: r.Delivered, ledger.MessageDead: r.Dead, ledger.MessageDropped: r.Dropped,
		} {
			ch <- prometheus.MustNewConstMetric(outboxMessages, prometheus.GaugeValue, float64(n), r.Name, string(state))
		}
	}
}
