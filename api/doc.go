// Package api is the root of the resource types. It contains no code.
//
//	api/scheduler/v1alpha1   what platform and application teams write: environments, workloads, cluster types, policies
//	api/app/v1alpha1         how a workload is delivered: chart, configuration, GitOps repository, environments
//	api/scheduling/v1        what external schedulers are asked, and what they answer: no resources, but JSON documents
//	api/hub/v1alpha1         what is deployed and where: clusters, reconcilers, versions of manifests
//	api/crds                 generated: the types as Kubernetes CustomResourceDefinitions
//
// The editor schemas in docs/schemas are generated from the CustomResourceDefinitions, and from the types of
// api/scheduling/v1. Generated files are committed;
// a test in the root package fails if they are stale.
package api

//go:generate go tool controller-gen object crd:crdVersions=v1 paths=./... output:crd:dir=crds
//go:generate go run ./internal/genschemas -crds crds -scheduling ./scheduling/v1 -out ../docs/schemas
