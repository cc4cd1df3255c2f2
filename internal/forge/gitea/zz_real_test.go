package gitea_test

import (
	"os"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
)

func TestZZReal(t *testing.T) {
	if os.Getenv("R_URL") == "" {
		t.Skip()
	}
	forgetest.Run(t, giteatest.Real{
		URL: os.Getenv("R_URL"), Organization: "rules",
		Token: forge.NewSecret(os.Getenv("R_BOT")), Weak: forge.NewSecret(os.Getenv("R_WEAK")), Person: forge.NewSecret(os.Getenv("R_ADMIN")),
	}.Harness)
}
