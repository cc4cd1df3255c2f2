package tools

import "context"

// Helm builds the helm command if it is not there yet, and returns its path. Only the benchmark of rendering needs it,
// so that [Build] leaves it out.
func Helm(ctx context.Context, dir string, say func(string)) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	return recipe{module: "helm", pkg: "helm.sh/helm/v4/cmd/helm"}.build(ctx, dir, cache, say)
}
