// Package output prints results of commands as text for users; programs read the same values as JSON or YAML.
//
//	query, plan, fleet ─► value ─┬─► JSON, YAML
//	                             └─► output ─► text
//
// A [Printer] has a method for each kind of answer. [Plan] and [ApplicationPlan] print plans.
// Texts may change in any version; programs should not parse them.
package output
