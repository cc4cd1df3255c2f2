package github_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
)

// The abilities of this forge.
var (
	_ forge.Forge           = (*github.Forge)(nil)
	_ forge.Viewer          = (*github.Forge)(nil)
	_ forge.Creator         = (*github.Forge)(nil)
	_ forge.WebhookVerifier = (*github.Forge)(nil)
	_ forge.Brancher        = (*github.Repository)(nil)
	_ forge.LabelHistorian  = (*github.Repository)(nil)
	_ forge.AutoMerger      = (*github.Repository)(nil)
	_ forge.Protector       = (*github.Repository)(nil)
	_ forge.CodeOwned       = (*github.Repository)(nil)
	_ forge.Hooker          = (*github.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, githubtest.Harness)
}
