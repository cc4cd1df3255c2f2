// Package chart renders what an application team delivers, a Helm chart, a kustomization or plain manifests,
// for the targets of an environment.
//
//	files of the chart ──Load──► Chart ─┐
//	values.yaml files ──values.Compose──┴─► Render ──► Manifests: objects, images, bytes
//	a Job is all of that for many targets ──Run──► Result
//
// It is a pure function of bytes: no disk, no network, no cluster, no clock. Charts are rendered by Helm's own loader
// and engine, kustomizations by kustomize's own, so that the result is what people know:
//
//   - like helm template --include-crds --skip-tests with the given Kubernetes version and API versions:
//     definitions first, then objects in the order of installation, then hooks; notes are left out.
//     Hooks that run only on deletion or rollback are left out as well, because reconcilers would apply them like
//     anything else, and so are those for events that Helm does not know; which ones is said in a notice.
//   - like kustomize build, without plugins, functions, charts and anything remote.
//   - plain manifests as they are, file by file in the order of their paths.
//
// # Same inputs, same bytes
//
// What templates could look at besides their inputs is taken away. Random functions (randAlphaNum, uuidv4, genCA,
// bcrypt and so on) and the clock (now, ago) are errors that say so: a password belongs into a Secret of the target,
// not into a commit. Dates are in UTC. keys and values are sorted. lookup finds nothing and getHostByName is empty,
// as with helm template.
//
// # Charts are hostile
//
// Files are bounded in number and size; paths that leave the chart and symbolic links are refused. Loops, nested
// templates and what is built from them are metered: every loop body and every template is given a call that counts,
// before Helm's engine sees it (see guard.go); data that contains itself cannot be made. An endless chart ends in an
// error after [MaxWork]. What a few functions can still build, such as a text that is doubled again and again, is
// bounded by nothing but memory: whoever renders charts of others runs a [Job] in a process with limits. Job and
// [Result] are plain data for that.
package chart
