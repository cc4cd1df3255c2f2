package sample

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Unpublish removes the repositories of a sample: those whose description has its mark.
// It returns the URLs of existing repositories without the mark, which stay. It can be run again.
func Unpublish(ctx context.Context, host forge.Forge, repositories []Repository, mark string) (left []string, err error) {
	for _, r := range repositories {
		on, err := host.Repository(r.URL)
		if err != nil {
			return left, err
		}
		ours, err := marked(ctx, on, mark)
		switch {
		case errors.Is(err, forge.ErrNotFound):
			continue
		case err != nil:
			return left, err
		case !ours:
			left = append(left, r.URL)
			continue
		}
		if err := on.(forge.Remover).Remove(ctx); err != nil {
			return left, err
		}
	}
	return left, nil
}

// marked reports whether the description of a repository has the mark. Then it is a [forge.Remover].
func marked(ctx context.Context, on forge.Repository, mark string) (bool, error) {
	remover, ok := on.(forge.Remover)
	if !ok || mark == "" {
		return false, nil
	}
	description, err := remover.Description(ctx)
	if err != nil {
		return false, fmt.Errorf("read the repository's description: %w", err)
	}
	return strings.Contains(description, mark), nil
}
