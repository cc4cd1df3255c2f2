// Package desired says what a cluster without a reconciler should run now. The agent of the cluster asks for it and applies it.
//
//	memberships ─► platform folder of each ─► its documents of kind DirectDelivery ─► folder of each
//	               at the head of its branch                                          at the head of its branch
//	                            └──────────── Delivery: commit, digest of an archive, size ◄──┘
//
// Only what merged branches say is served: nothing is stored but caches. A folder that cannot be read is an error of its own delivery;
// agents keep what they have of it.
//
// [Service.Answer] signs the answer for one cluster with a number of the ledger that grows, so that an agent can tell a later answer from an earlier
// one, by whatever server, and from one of another owner. The branches are read after the answer got its number. [Service.Archive] returns what a digest stands for, to a cluster whose deliveries have it.
package desired
