package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// play is the tutorial with one user who plays both of its teams.
type play struct {
	*harness.SampleSite
	stack   *harness.Stack
	kalypso *harness.Kalypso
	person  harness.Account
	// folder has what people need: the sample, and credentials.
	folder, address string
	process         *harness.Process
}

const organization, person = "tutorial", "ann"

func newPlay(ctx context.Context, stack *harness.Stack, kalypso *harness.Kalypso) (*play, error) {
	site, err := stack.NewSampleSite(ctx, organization)
	if err != nil {
		return nil, err
	}
	p := &play{SampleSite: site, stack: stack, kalypso: kalypso.With(site.Env()...)}
	if p.folder, err = stack.Lab.Folder("you"); err != nil {
		return nil, err
	}
	return p, p.welcomePerson(ctx)
}

// welcomePerson makes the account of that user: with a password for pages, and a token for git.
func (p *play) welcomePerson(ctx context.Context) (err error) {
	g := p.stack.Gitea
	if p.person, err = g.NewAccount(ctx, person, "write:repository", "write:issue", "read:user"); err != nil {
		return err
	}
	password := rand.Text()
	err = g.Call(ctx, g.Admin, http.MethodPatch, "/admin/users/"+person, map[string]any{
		"login_name": person, "source_id": 0, "password": password, "must_change_password": false,
	}, nil)
	if err != nil {
		return err
	}
	if err := p.LetIn(ctx, g, p.person, "write"); err != nil {
		return err
	}
	at, err := url.Parse(g.URL)
	if err != nil {
		return err
	}
	at.User = url.UserPassword(person, p.person.Token)
	return errors.Join(
		os.WriteFile(p.path("gitea-password"), []byte(password+"\n"), 0o600),
		os.WriteFile(p.path("git-credentials"), []byte(at.String()+"\n"), 0o600),
	)
}

func (p *play) path(name string) string { return filepath.Join(p.folder, name) }

// up starts the sample, waits until it is there, and says how to reach everything.
func (p *play) up(ctx context.Context) (err error) {
	if p.address, err = p.stack.Address(); err != nil {
		return err
	}
	args := append([]string{"sample", "up", "--dir", p.path("sample"), "--listen", p.address, "--yes"}, p.Args("drone=edge-1", "drone=edge-2", "large=west")...)
	if p.process, err = p.kalypso.Start("kalypso-sample", args...); err != nil {
		return err
	}
	err = p.process.WaitReady(ctx, func(context.Context) error {
		if !strings.Contains(p.log(), "removes it.") {
			return errors.New("it is not there yet")
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Print(p.log())
	p.say()
	return nil
}

// log is what the sample has said so far.
func (p *play) log() string {
	text, err := p.process.Log()
	if err != nil {
		return err.Error()
	}
	return text
}

func (p *play) say() {
	fmt.Printf(`
Gitea is at %[1]s: sign in as %[2]s, with the password in %[3]s
The clusters are the contexts edge-1, edge-2 and west of %[4]s

In another terminal, with kalypso on your PATH, for the commands of docs/tutorial.md:

  cd %[5]s
  export KUBECONFIG=%[4]s
  export KALYPSO_SERVER=%[6]s KALYPSO_TOKEN=$(cat sample/data/admin-token)
  export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=credential.helper GIT_CONFIG_VALUE_0=
  export GIT_CONFIG_KEY_1=credential.helper GIT_CONFIG_VALUE_1="store --file=$PWD/git-credentials"
  kalypso sample merge --dir sample gitops stage --timeout 3m
  kubectl --context west get kustomizations -A

docs/how-to/sample-on-real-clusters.md says what is otherwise than in the tutorial. Ctrl-C ends and removes everything, this folder as well.
`, p.stack.Gitea.URL, person, p.path("gitea-password"), p.Kubeconfig, p.folder, "http://"+p.address)
}

// down removes the sample, as far as it has come. What it made is in the lab, which goes as well: that takes care of the rest.
func (p *play) down() error {
	if _, err := os.Stat(p.path("sample")); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := p.kalypso.Run(ctx, "sample", "down", "--dir", p.path("sample"))
	fmt.Print(result.Stdout, result.Stderr)
	return err
}
