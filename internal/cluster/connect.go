package cluster

import (
	"fmt"
	"log/slog"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Connect returns a watcher of a cluster: that of a kubeconfig file, or without one, the cluster that the program runs in,
// or else the one that kubectl would use. Nothing is asked of the cluster yet.
func Connect(kubeconfig, userAgent string, more []Kind, log *slog.Logger) (*Watcher, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.UserAgent = userAgent
	return watcherOf(config, more, log)
}

func watcherOf(config *rest.Config, more []Kind, log *slog.Logger) (*Watcher, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	discovery, err := NewDiscovery(config)
	if err != nil {
		return nil, err
	}
	return NewWatcher(client, discovery, more, log), nil
}
