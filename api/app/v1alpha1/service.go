package v1alpha1

// ListedService is a service in the format that the original scheduler
// uses for its services repositories, one per file:
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
	// Helm locates its chart.
	Helm ListedChart `json:"helm"`
}

// ListedChart locates the chart of a [ListedService].
//
// +kubebuilder:object:generate=false
type ListedChart struct {
	// Repository is the URL of the chart repository.
	Repository string `json:"repository"`
	// Chart is the name of the chart in the repository.
	Chart string `json:"chart"`
	// Version is a version, or a range of versions.
	Version string `json:"version"`
}

// Service converts s to a service of a [Delivery].
func (s ListedService) Service() Service {
	return Service{Name: s.Name, Chart: Chart{Repository: s.Helm.Repository, Name: s.Helm.Chart, Version: s.Helm.Version}}
}
