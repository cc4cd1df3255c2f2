// Package chart holds what rendering takes and returns, as plain data: the files that an application team delivers, the
// job of rendering them for the targets of an environment, and its result.
//
//	Job: files, values, targets ──► package sandbox ──► Result: manifests, objects, images, problems
//	                                     └─ package engine, with Helm and kustomize
//
// A [Job] can be sent to another process, and its [Job.Digests] say which targets an earlier [Result] already has.
//
// The package also has what other packages need to know about charts and images without rendering anything: it unpacks
// archives ([Unpack]), divides text into documents ([Documents]), parses references to images ([ParseImage]) and finds the
// images in manifests ([ImagesIn]). The functions that templates of charts and of the platform share are here as well,
// because they must give the same bytes in both.
//
// Neither Helm nor kustomize is among its dependencies. Both are large, and a test of the module checks it.
package chart
