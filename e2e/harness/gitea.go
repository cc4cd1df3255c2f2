package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"text/template"
)

//go:embed app.ini
var giteaConfiguration string

// Gitea is a forge that runs.
type Gitea struct {
	// URL is where it is, without a slash at the end.
	URL string
	// Admin may do everything.
	Admin Account
}

// Account is a user of a Gitea.
type Account struct {
	Name, Token string
}

// startGitea starts a Gitea with nothing in it but its administrator.
func (s *Stack) startGitea(ctx context.Context) (*Gitea, error) {
	at, err := s.ports.next()
	if err != nil {
		return nil, err
	}
	folder, err := s.Lab.Folder("gitea")
	if err != nil {
		return nil, err
	}
	config, err := configureGitea(folder, portOf(at), s.Programs.GiteaFiles)
	if err != nil {
		return nil, err
	}
	p, err := s.Lab.Start(Program{Name: "gitea", Path: s.Programs.Gitea, Args: []string{"web", "--config", config}, Env: asRoot()})
	if err != nil {
		return nil, err
	}
	g := &Gitea{URL: "http://" + at}
	if err := p.WaitReady(ctx, answers(g.URL+"/api/healthz", "")); err != nil {
		return nil, err
	}
	g.Admin, err = newAdmin(ctx, s.Programs.Gitea, config, folder)
	return g, err
}

// asRoot lets Gitea run as root, as everything does in many a build container.
func asRoot() []string { return []string{"GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true"} }

func configureGitea(folder, port, files string) (string, error) {
	t, err := template.New("app.ini").Parse(giteaConfiguration)
	if err != nil {
		return "", err
	}
	me, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find out who runs this: %w", err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never has an error
	var text bytes.Buffer
	err = t.Execute(&text, map[string]string{
		"Folder": folder, "Port": port, "Files": files, "User": me.Username,
		"Secret": rand.Text(), "JWTSecret": base64.RawURLEncoding.EncodeToString(random),
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "app.ini")
	return path, os.WriteFile(path, text.Bytes(), 0o600)
}

// accessToken matches a token of an account.
var accessToken = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// newAdmin creates the first account, which the API cannot create.
func newAdmin(ctx context.Context, program, config, home string) (Account, error) {
	const name = "admin-of-e2e"
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, program, append([]string{"--config", config, "admin", "user"}, args...)...)
		cmd.Env = append(asRoot(), "PATH="+os.Getenv("PATH"), "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("gitea admin user %s: %w\n%s", args[0], err, out)
		}
		return string(out), nil
	}
	if _, err := run("create", "--username", name, "--password", rand.Text(), "--email", name+"@localhost.localdomain",
		"--admin", "--must-change-password=false"); err != nil {
		return Account{}, err
	}
	out, err := run("generate-access-token", "--username", name, "--token-name", "e2e", "--scopes", "all", "--raw")
	if err != nil {
		return Account{}, err
	}
	token := accessToken.FindString(out) // before or after what is logged
	if token == "" {
		return Account{}, fmt.Errorf("gitea admin user generate-access-token prints no token:\n%s", out)
	}
	return Account{Name: name, Token: token}, nil
}

// NewAccount creates an account with a token that is limited to scopes, such as "write:repository".
func (g *Gitea) NewAccount(ctx context.Context, name string, scopes ...string) (Account, error) {
	password := rand.Text()
	err := g.Call(ctx, g.Admin, http.MethodPost, "/admin/users", map[string]any{
		"username": name, "password": password, "email": name + "@localhost.localdomain", "must_change_password": false,
	}, nil)
	if err != nil {
		return Account{}, err
	}
	var token struct {
		SHA1 string `json:"sha1"`
	}
	// Only the password of an account makes tokens for it.
	err = g.call(ctx, func(r *http.Request) { r.SetBasicAuth(name, password) }, http.MethodPost, "/users/"+name+"/tokens",
		map[string]any{"name": "e2e", "scopes": scopes}, &token)
	return Account{Name: name, Token: token.SHA1}, err
}
