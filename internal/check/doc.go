// Package check says what is wrong with manifests before anybody applies them.
//
//	manifests ─► schemas       an API server would refuse it, or ignore a field that is misspelt
//	          ─► defaults      it has rights, or lacks limits, that it should not without a reason
//	          ─► own rules     what the teams of this fleet want, as CEL expressions
//	          ─► secrets       a credential in plain text, which Git would keep for ever
//	                └─► findings, each with file, line, object and what to do
//
// Each rule has a name and a [Level]: whether a finding informs, warns, or refuses, which an environment can set.
// A rule that cannot be evaluated refuses with the reason: what nobody checked is not good.
//
// What is checked is hostile input. Sizes and costs are bounded, and a finding never shows a secret that it found.
package check
