// Package engine renders what an application team delivers, a Helm chart, a kustomization or plain manifests,
// for the targets of an environment.
//
//	files of the chart ──────────────────┐
//	values.yaml files ──values.Compose──┴─► manifests: objects, images, bytes
//	a chart.Job is all of that for many targets ──Run──► chart.Result
//
// It is a pure function of bytes: no disk, no network, no cluster, no clock. Helm's own loader and engine render charts,
// and kustomize builds kustomizations:
//
//   - like helm template --include-crds --skip-tests with the given Kubernetes version and API versions:
//     definitions first, then objects in the order of installation, then hooks, without notes.
//     Hooks that run only on deletion or rollback are omitted as well, because reconcilers would apply them like
//     any object, and so are those for events that Helm does not know. A notice lists them.
//   - like kustomize build, without plugins, functions, charts and anything remote.
//   - plain manifests unchanged, file by file in the order of their paths.
//
// Helm and kustomize are the largest libraries of the program, so only package sandbox imports the engine. The values that
// go in and come out are in package chart, which everything else uses.
//
// # Same inputs, same bytes
//
// Templates can read only their inputs. They may call random functions (randAlphaNum, uuidv4, genCA, bcrypt and so on) and
// the clock (now, ago), as defaults of values that are set. A chart with calls is rendered twice, with other results:
// what differs is an error that names the value that avoids it, because a password belongs in a Secret of the target,
// not in a commit. Dates are in UTC. keys and values are sorted. lookup finds nothing and getHostByName is empty,
// as with helm template.
//
// # Charts are untrusted
//
// Files are bounded in number and size; paths that leave the chart and symbolic links are refused. Loops and nested
// templates are metered: a counting call is inserted into every loop body and every template
// before Helm's engine runs them (see guard.go). Data that contains itself is refused. An endless chart stops with an
// error, see maxWork. A few functions can still build large values, such as a string that is doubled repeatedly;
// only memory bounds them. To render untrusted charts, run a job in a process with limits: see package sandbox.
package engine
