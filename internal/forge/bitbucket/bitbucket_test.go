package bitbucket_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket/bitbuckettest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// The abilities of this forge.
var (
	_ forge.Forge           = (*bitbucket.Forge)(nil)
	_ forge.Viewer          = (*bitbucket.Forge)(nil)
	_ forge.Creator         = (*bitbucket.Forge)(nil)
	_ forge.WebhookVerifier = (*bitbucket.Forge)(nil)
	_ forge.Settler         = (*bitbucket.Forge)(nil)
	_ forge.Repository      = (*bitbucket.Repository)(nil)
	_ forge.Remover         = (*bitbucket.Repository)(nil)
	_ forge.Brancher        = (*bitbucket.Repository)(nil)
	_ forge.Annotator       = (*bitbucket.Repository)(nil)
	_ forge.Reviewer        = (*bitbucket.Repository)(nil)
	_ forge.Hooker          = (*bitbucket.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		_, h := bitbuckettest.Start(t)
		return h
	})
}
