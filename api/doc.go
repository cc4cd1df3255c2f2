// Package api is the root of the resource types; it holds no code itself.
//
//	api/scheduler/v1alpha1   what both teams write: environments, workloads, cluster types, policies
//	api/app/v1alpha1         how a workload is delivered: chart, configuration, GitOps repository, environments
//	api/hub/v1alpha1         what is deployed and where: clusters, reconcilers, versions behind manifests
//	api/crds                 generated: the types as Kubernetes CustomResourceDefinitions
//
// The editor schemas in docs/schemas are generated from the CustomResourceDefinitions.
// Everything generated is committed; a test in the root package fails when it is stale.
package api

//go:generate go tool controller-gen object crd:crdVersions=v1 paths=./... output:crd:dir=crds
//go:generate go run ./internal/genschemas -crds crds -out ../docs/schemas
