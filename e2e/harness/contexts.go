package harness

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteContexts writes one kubeconfig with a context for each cluster, named like it, with the rights that we have there.
func WriteContexts(path string, clusters map[string]*Cluster) error {
	file := api.NewConfig()
	for name, c := range clusters {
		file.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
		file.Clusters[name] = &api.Cluster{Server: c.config.Host, CertificateAuthority: c.config.CAFile}
		file.AuthInfos[name] = &api.AuthInfo{Token: c.config.BearerToken}
	}
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
