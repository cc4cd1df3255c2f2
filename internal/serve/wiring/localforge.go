package wiring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// LocalForgeFolder is the folder of the embedded forge below the data folder.
const LocalForgeFolder = "forge"

// openLocalForge opens the embedded forge if the configuration wants it. Its events wake the keeper.
func (s *Server) openLocalForge(ctx context.Context) error {
	if !*s.Config.LocalForge {
		return nil
	}
	host, err := local.Open(ctx, local.Options{
		Dir: filepath.Join(s.Config.Data, LocalForgeFolder), URL: s.Config.URL, PublicRead: func(r *http.Request) bool { return s.API.Guard.Open(r) }, Log: s.Log,
		Reserved: reservedOwners(), Places: forgePlaces(), Search: "/search", Visitor: s.forgeVisitor,
	})
	if err != nil {
		return err
	}
	s.onClose(func() { _ = host.Close() }) // the process ends
	if err := s.createForgeToken(ctx, host); err != nil {
		return err
	}
	s.onClose(host.Subscribe(s.Keeper.HandleEvent))
	s.LocalForge, s.server.Forge = host, host.Handler()
	s.Flows.serveLocally(host, git.Mapping{From: s.Config.URL, To: filepath.Join(s.Config.Data, LocalForgeFolder, "repos")})
	return nil
}

// createForgeToken creates the administrator's token on the first start.
func (s *Server) createForgeToken(ctx context.Context, host *local.Forge) error {
	file := filepath.Join(s.Config.Data, AdminTokenFile)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	token := access.NewToken(access.Admin)
	if _, err := host.AddToken(ctx, "admin", token, local.Account{Name: "admin", Right: local.Admin}); err != nil {
		return err
	}
	if err := writeSecret(file, token); err != nil {
		return fmt.Errorf("write the administrator's token: %w", err)
	}
	s.Log.Info("created the administrator's token of the local forge", "file", file)
	return nil
}

// reservedOwners are the first path elements that the server itself answers.
func reservedOwners() []string {
	return append(web.Roots(), "api", "healthz", "readyz", "metrics", "webhooks", "sample", "v2")
}

// forgePlaces are links to the server's pages, for the navigation of the forge.
func forgePlaces() []local.Place {
	var places []local.Place
	for _, l := range web.Sections() {
		places = append(places, local.Place{Name: l.Name, Address: l.Address})
	}
	return places
}

// repositoriesPage is the address of the local forge's list of repositories.
func repositoriesPage(config *serve.Config) string {
	return strings.TrimSuffix(config.URL, "/") + "/-/repositories"
}

// forgeVisitor returns the account of a browser's session: users sign in once for all pages of the server.
func (s *Server) forgeVisitor(r *http.Request) (local.Account, string, error) {
	identity, ok, err := s.sessions.Authenticate(r)
	right := forgeRight(identity.Role)
	if err != nil || !ok || right == "" {
		return local.Account{}, "", err
	}
	return local.Account{Name: identity.Name, Right: right}, s.sessions.FormToken(r), nil
}

// forgeRight returns the right of a role on the local forge; empty for none.
func forgeRight(r access.Role) local.Right {
	switch r {
	case access.Reader:
		return local.Read
	case access.Operator, access.BreakGlass:
		return local.Write
	case access.Admin:
		return local.Admin
	case access.Cluster, access.Join, access.Approver, access.Scoped:
	}
	return ""
}
