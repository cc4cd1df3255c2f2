// Package placementdecision reads and writes PlacementDecisions, in which schedulers of other systems publish which clusters they
// chose for a placement.
//
//	cluster.open-cluster-management.io/v1beta1   Open Cluster Management: status.decisions[].clusterName
//	                                             https://open-cluster-management.io/docs/concepts/content-placement/placement/
//	multicluster.x-k8s.io/v1alpha1               SIG Multicluster, provisional: decisions[].clusterProfileRef.name
//	                                             https://www.kubernetes.dev/resources/keps/5313/
//
// Both choose clusters, and Kalypso assigns to cluster types. A cluster stands for the cluster type that lists it, or else for
// the cluster type with its name.
package placementdecision
