package tools

import "context"

// Helm builds only the helm command, if it is not there yet, and returns its path.
func Helm(ctx context.Context, dir string, say func(string)) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	return helm(nil).build(ctx, dir, cache, say)
}
