// Package direct applies to a cluster without a reconciler what the server says that it should run.
//
//	server ──► Follower ──► Store ──► Deliverer ──► API server
//	 signed     verifies     on disk    applies, waits, prunes, rolls back
//	                                    └─► reports, as a reconciler's
//
// The [Follower] asks the server with one request that the server holds until something changes. It accepts an answer only if it is signed
// with the server's key, for this cluster, and later than the one before, and downloads the archives of all deliveries before they are applied:
// a download goes on where it was interrupted, and an archive counts only if it has its digest. After weeks without a connection there is only the newest version of each
// delivery: what was between is not applied.
//
// The [Deliverer] works from the [Store] alone, so a cluster goes on with what it has while the server is away.
//
// It decides from a view of all deliveries, and gives those that are due to a few workers: each does one step of one delivery, with its own copy of the state, which
// counts once it is on disk. A worker that is slow gives its place to another one and goes on, and gives way if the memory for manifests is used up. So a delivery that
// is slow or fails does not delay the others, except for those that depend on it, and for what a new version of the platform declares.
//
// # Applying
//
// A delivery of the platform is applied with the agent's rights, every other one as its service account. All objects of an archive are read and checked before the
// first is applied. Definitions of kinds and namespaces come first. Each object is applied on the server's side and
// carries the annotation [AnnotationDelivery]. An object that exists without it, or with another delivery's, is refused: setting the annotation by hand
// hands it over. What was read is what is changed: if the object changes in between, it is read again. An attempt goes on after an object that fails, and its message says how many were applied, and which not and why.
//
// What is no longer in an archive is removed if it is in the inventory of the delivery and carries its annotation. An archive without any object
// removes nothing. Objects are removed with the rights of the account too, so what may give it these rights goes last, and the agent removes that itself if the account
// no longer can. What cannot be removed is reported, with what would settle it; the version counts as applied and its health is watched. A delivery that the platform's folder no longer declares is removed as a whole, but never one whose folder could not be read.
// A folder of the platform that gets another name keeps its inventory.
//
// # Windows
//
// Windows and a hold of the cluster come with what it should run, signed. Outside of them, new versions are staged: on disk, verified and read. What was begun is
// finished, rollbacks are done, and what runs is kept.
//
// # Crashes
//
// The store is written before the cluster: the inventory names an object before it is created, and loses it after it is removed. So whatever
// step is interrupted, the next start repeats it, and repeating it has no other effect.
package direct
