package gitea_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
)

// The abilities of this forge.
var (
	_ forge.Forge           = (*gitea.Forge)(nil)
	_ forge.Viewer          = (*gitea.Forge)(nil)
	_ forge.Creator         = (*gitea.Forge)(nil)
	_ forge.Remover         = (*gitea.Repository)(nil)
	_ forge.WebhookVerifier = (*gitea.Forge)(nil)
	_ forge.Brancher        = (*gitea.Repository)(nil)
	_ forge.Annotator       = (*gitea.Repository)(nil)
	_ forge.Reviewer        = (*gitea.Repository)(nil)
	_ forge.LabelHistorian  = (*gitea.Repository)(nil)
	_ forge.AutoMerger      = (*gitea.Repository)(nil)
	_ forge.Protector       = (*gitea.Repository)(nil)
	_ forge.CodeOwned       = (*gitea.Repository)(nil)
	_ forge.Hooker          = (*gitea.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, giteatest.Harness)
}
