// +kubebuilder:object:generate=true
// +groupName=app.kalypso.io

// Package v1alpha1 holds what an application team says about getting its workload to its targets,
// as a Kubernetes resource type of the group app.kalypso.io.
//
// A Workload says what runs and where its manifests are found. [Delivery] lies next to it in the source repository
// and says how the manifests get there: from which chart, kustomization or plain files, with which configuration,
// to which GitOps repository, and through which environments.
//
//	source repository          config repository            GitOps repository
//	main: helm/, Workload,     dev:  values.yaml            dev:   functional-test/manifests.yaml
//	      Delivery                   functional-test/ ───►         functional-test/kustomization.yaml
//	                           stage: values.yaml           stage: uat-test/...
//
// The document is optional, and so is everything in it: [Complete] fills in the usual layout.
// The kind is not called Application: the platform's word for that is Workload, and Argo CD has a kind of that name.
package v1alpha1
