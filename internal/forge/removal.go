package forge

import "context"

// Remover deletes a repository. Whoever does so looks first at what the repository says about itself,
// and leaves alone what he did not make.
type Remover interface {
	// Description is what the repository was created with, or what somebody wrote there since.
	Description(ctx context.Context) (string, error)
	// Remove deletes the repository with everything in it, for good. That there is none is no error.
	Remove(ctx context.Context) error
}
