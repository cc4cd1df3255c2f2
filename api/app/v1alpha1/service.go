package v1alpha1

// ListedService is a service as the original scheduler's services repositories list them, a file each:
//
//	name: nginx
//	helm:
//	  repository: https://helm.example.com
//	  chart: nginx
//	  version: 1.2.3
//
// +kubebuilder:object:generate=false
type ListedService struct {
	// Name is the name of the service.
	Name string `json:"name"`
	// Helm points to its chart.
	Helm ListedChart `json:"helm"`
}

// ListedChart points to the chart of a [ListedService].
//
// +kubebuilder:object:generate=false
type ListedChart struct {
	// Repository is the URL of the repository of charts.
	Repository string `json:"repository"`
	// Chart is the name of the chart there.
	Chart string `json:"chart"`
	// Version is the version, or a range of versions.
	Version string `json:"version"`
}

// Service returns the service in the form of a [Delivery].
func (s ListedService) Service() Service {
	return Service{Name: s.Name, Chart: Chart{Repository: s.Helm.Repository, Name: s.Helm.Chart, Version: s.Helm.Version}}
}
