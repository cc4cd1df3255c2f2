package reconciler

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
	config, err := Config(kubeconfig, "", userAgent)
	if err != nil {
		return nil, err
	}
	return Watch(config, more, log)
}

// Config returns how a cluster is reached: as [Connect] finds it, by a context of the kubeconfig unless that is empty.
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

// Watch returns a watcher of a cluster that is reached in a certain way. Nothing is asked of the cluster yet.
func Watch(config *rest.Config, more []Kind, log *slog.Logger) (*Watcher, error) {
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
