package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The files of the local forge below the data folder.
const (
	localForgeFolder = "forge"
	// adminTokenFile holds the token of the one who starts the server; only they can read it.
	adminTokenFile = "admin-token"
)

// openLocalForge opens the forge that the server brings along, and makes a token for whoever started it the first time.
// visitor says who looks at its pages.
func openLocalForge(ctx context.Context, config *serve.Config, log *slog.Logger, visitor func(*http.Request) (local.Account, string, error)) (*local.Forge, error) {
	f, err := local.Open(ctx, local.Options{
		Dir: filepath.Join(config.Data, localForgeFolder), URL: config.URL, PublicRead: onLoopback(config.Listen), Log: log,
		Reserved: reservedOwners(), Places: forgePlaces(), Search: "/search", Visitor: visitor,
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(config.Data, adminTokenFile)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	token, _, err := f.CreateToken(ctx, "admin", local.Account{Name: "admin", Right: local.Admin})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := os.WriteFile(file, []byte(token.Reveal()+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the token of the administrator: %w", err), f.Close())
	}
	log.Info("made a token for the administrator of the local forge", "file", file)
	return f, nil
}

// reservedOwners are the first parts of the paths that the server answers itself.
func reservedOwners() []string {
	return append(web.Roots(), "api", "healthz", "readyz", "metrics", "webhooks", "sample")
}

// forgePlaces are the pages of the fleet, in the navigation of the forge.
func forgePlaces() []local.Place {
	var places []local.Place
	for _, l := range web.Sections() {
		places = append(places, local.Place{Name: l.Name, Address: l.Address})
	}
	return places
}

// repositoriesPage is where the local forge lists its repositories.
func repositoriesPage(url string) string { return strings.TrimSuffix(url, "/") + "/-/repositories" }

// onLoopback reports whether only programs of this machine reach an address. They may read without a token.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && secret.IsLoopback(host)
}

// inPlace reads the repositories of the local forge where they are, rather than over HTTP.
func inPlace(config *serve.Config) git.Mapping {
	return git.Mapping{From: config.URL, To: filepath.Join(config.Data, localForgeFolder, "repos")}
}
