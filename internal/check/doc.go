// Package check checks manifests before they are published.
//
//	manifests ─► schemas       an API server would refuse the object, or ignore a misspelled field
//	          ─► defaults      the object has rights that it should not have, or lacks limits
//	          ─► custom rules  of the fleet's teams, as CEL expressions
//	          ─► rights        the object is outside of what the platform lets the application change
//	          ─► secrets       a credential in plain text, which would stay in Git forever
//	                └─► findings, each with file, line, object and what to do
//
// Each rule has a name and a [Level] that an environment can set: inform, warn or refuse.
// A rule that cannot be evaluated refuses with the reason: an unchecked manifest does not pass.
//
// Manifests are untrusted input. Sizes and costs are bounded, and a finding never shows the secret that it found.
package check
