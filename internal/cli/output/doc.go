// Package output shows people what flows found out: environments and why they wait, clusters, histories, comparisons,
// plans and problems.
//
// The same value goes two ways. A program that asks gets it as JSON, as it is; a person gets a text about it, and this
// package writes that:
//
//	observing, plan, fleet ─► value ─┬─► JSON, YAML
//	                                 └─► answer ─► text for people
//
// A [View] knows who looks, in which style and at which time; it has a method for each kind of answer.
// A [Plan] of a fleet and the plan of a [Delivery] are shown with what a person might do about them.
// Texts may change from version to version, and nobody should read them but people.
package output
