package forge

import "context"

// Remover deletes repositories. Callers read the description first, to delete only repositories that they created.
type Remover interface {
	// Description returns the current description.
	Description(ctx context.Context) (string, error)
	// Remove deletes the repository. Removing a repository that does not exist is not an error.
	Remove(ctx context.Context) error
}
