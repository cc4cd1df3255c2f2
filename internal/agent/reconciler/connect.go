package reconciler

import (
	"fmt"
	"log/slog"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Connect returns a watcher of a cluster: of the kubeconfig file, or else of the cluster that the program runs in,
// or else of kubectl's current context. It sends no requests.
func Connect(kubeconfig, userAgent string, more []Kind, log *slog.Logger) (*Watcher, error) {
	config, err := Config(kubeconfig, "", userAgent)
	if err != nil {
		return nil, err
	}
	return Watch(config, more, log)
}

// Config returns the configuration that [Connect] uses, with a context of the kubeconfig unless it is empty.
func Config(kubeconfig, context, userAgent string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.UserAgent = userAgent
	return config, nil
}

// Watch returns a watcher of a cluster. It sends no requests.
func Watch(config *rest.Config, more []Kind, log *slog.Logger) (*Watcher, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	discovery, err := NewDiscovery(config)
	if err != nil {
		return nil, err
	}
	w := NewWatcher(client, discovery, more, log)
	if url, _, err := rest.DefaultServerUrlFor(config); err == nil {
		w.server = server(url.String())
	}
	return w, nil
}
