// Package forgetest states the rules of package forge as tests, which every adapter passes.
//
//	func TestForge(t *testing.T) {
//		forgetest.Run(t, func(t *testing.T) forgetest.Harness { ... })
//	}
//
// A [Harness] is a forge to try the rules on: a real one, or a fake that is a real HTTP server with the published shapes
// of the forge's API. Making commits is the harness's job, since forges want them pushed. What a forge or a harness
// does not have is skipped, and the test says so.
//
// To write a fake, translate between HTTP and a [World], which remembers what all forges do and knows their common rules;
// put [Faults] in front of it, and give the adapter's transport a [Clock], so that nobody sleeps.
package forgetest
