// Package notify tells people what promotions do, and what waits for them.
//
//	ledger: steps ─► Events ─► routes ─► outbox ─► claim ─► Sender ─► delivered
//	                 (what happened)     (ledger)    ▲         │
//	                                                 └─ backoff ┘ failed
//
// # Nothing is lost, nothing is told twice
//
// Rounds do not send messages, and do not know that there are any: they record steps. A [Collector] reads the steps that are new,
// derives events from them with [Events], and queues a message for each receiver that a route selects. The ID of an event is a hash of
// what it is about, so every server derives the same, and the outbox stores it once. A server that ends at any point leaves either a
// step that is read again, or a message that is queued. How far the steps were read is stored together with the messages.
//
// Times of steps are those of the servers that recorded them. So steps are read again from an hour before the newest one; imported
// older steps are history, and send no message.
//
// # One message for one cause
//
// A failure has one message for each cause, however many clusters fail because of it and however often the counts in its reason change:
// [promote.Detail] has the cause. The same cause has another message after the commit was deployed in between.
//
// # Delivery
//
// A [Dispatcher] has one worker for each receiver, so that one that does not answer delays no other. A failed attempt is repeated
// after a growing pause, for three days. Receivers may get a message twice, if a server ends between sending and storing that it did;
// both have the same ID.
package notify
