// Package forgetest states the rules of package forge as tests that every adapter passes.
//
//	func TestForge(t *testing.T) {
//		forgetest.Run(t, func(t *testing.T) forgetest.Harness { ... })
//	}
//
// A [Harness] is a forge to run the rules against: a real one, or a fake that is a real HTTP server with the published shapes
// of the forge's API. The harness creates commits, since forges expect them to be pushed. Rules that need something
// the forge or harness lacks are skipped, and the test log says so.
//
// To write a fake, translate between HTTP and a [World], which holds the state and the rules that all forges share.
// Put [Faults] in front of it, which also make reads late ([Faults.Lag]), and give the adapter's transport a [Clock], so that tests never sleep.
// A fake could repeat the adapter's errors. So a file published.txt holds what the forge's own API description says of the requests
// in use, and a test fails if an exchange differs from it: see [Published]. A new request or field starts there, from its source.
package forgetest
