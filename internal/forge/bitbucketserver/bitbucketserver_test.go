package bitbucketserver_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver/bitbucketservertest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// The abilities of this forge.
var (
	_ forge.Forge           = (*bitbucketserver.Forge)(nil)
	_ forge.Viewer          = (*bitbucketserver.Forge)(nil)
	_ forge.Creator         = (*bitbucketserver.Forge)(nil)
	_ forge.WebhookVerifier = (*bitbucketserver.Forge)(nil)
	_ forge.Settler         = (*bitbucketserver.Forge)(nil)
	_ forge.Repository      = (*bitbucketserver.Repository)(nil)
	_ forge.Remover         = (*bitbucketserver.Repository)(nil)
	_ forge.Brancher        = (*bitbucketserver.Repository)(nil)
	_ forge.Annotator       = (*bitbucketserver.Repository)(nil)
	_ forge.Reviewer        = (*bitbucketserver.Repository)(nil)
	_ forge.Hooker          = (*bitbucketserver.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		_, h := bitbucketservertest.Start(t)
		return h
	})
}
