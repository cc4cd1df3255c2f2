// +kubebuilder:object:generate=true
// +groupName=app.kalypso.io

// Package v1alpha1 defines the Kubernetes resource type of the group app.kalypso.io: how an application team's
// workload gets to its targets.
//
// A Workload defines what runs and where its manifests are. The [Delivery] next to it in the source repository
// defines how the manifests get there: from which chart, kustomization or plain files, with which configuration, to
// which GitOps repository, and through which environments.
//
//	source repository          config repository            GitOps repository
//	main: helm/, Workload,     dev:  values.yaml            dev:   functional-test/manifests.yaml
//	      Delivery                   functional-test/ ───►         functional-test/kustomization.yaml
//	                           stage: values.yaml           stage: uat-test/...
//
// The document and all of its fields are optional: [Complete] fills in the usual layout. The kind is not called
// Application because Argo CD has a kind of that name, and the platform's term is Workload.
package v1alpha1
