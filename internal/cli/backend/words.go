package backend

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// What people can say about an environment; the words are those of the API.
const (
	WordPromote  = "promote"
	WordPause    = "pause"
	WordResume   = "resume"
	WordAbort    = "abort"
	WordRollback = "rollback"
)

// Word is what a person says about an environment.
type Word struct {
	Verb, Environment string
	// Commit is what promote, abort and rollback are about: the hash, or at least seven digits of it. Of a rollback it may be
	// empty, which is the last that ran well.
	Commit, Why string
	// ControlPlane tells environments of one name apart; empty where there is one.
	ControlPlane string
}

// Listener is who heeds words: [promote.Control] on a ledger, or a server.
type Listener interface {
	Say(ctx context.Context, w Word) (api.Accepted, error)
}

// Listen finds who heeds words, and does something with them.
func (f *Flags) Listen(cmd *cobra.Command, t *terminal.Terminal, do func(Listener) error) error {
	at, err := f.Find(cmd, t)
	if err != nil {
		return err
	}
	if at.Server != nil {
		return Hint(do(serverListener{at.Server}))
	}
	return WithLedger(cmd.Context(), OpenExisting, at.Ledger, func(l ledger.Ledger) error { return do(&localListener{l, t}) })
}

// localListener writes words into a ledger, in the name of whoever runs the program. The next round on it heeds them.
type localListener struct {
	ledger ledger.Ledger
	t      *terminal.Terminal
}

// Say implements [Listener].
func (l *localListener) Say(ctx context.Context, w Word) (api.Accepted, error) {
	if err := l.complete(ctx, &w); err != nil {
		return api.Accepted{}, err
	}
	if err := record(ctx, l.t, l.ledger, w.Verb, w.Environment, strings.TrimSpace(w.Commit+" "+w.Why)); err != nil {
		return api.Accepted{}, err
	}
	said := promote.Word{Subject: w.ControlPlane, Environment: w.Environment, Commit: w.Commit, By: who(l.t).String(), Why: w.Why}
	accepted := api.Accepted{ControlPlane: said.Subject, Environment: said.Environment, Commit: said.Commit, By: said.By, Why: said.Why}
	return accepted, l.tell(ctx, w.Verb, said)
}

func (l *localListener) tell(ctx context.Context, verb string, said promote.Word) error {
	control := promote.Control{Ledger: l.ledger, Now: l.t.Now}
	switch verb {
	case WordPause:
		return control.Pause(ctx, said)
	case WordResume:
		return control.Resume(ctx, said)
	case WordAbort:
		return control.Abort(ctx, said)
	}
	return control.Order(ctx, said)
}

// complete finds the control plane and the full commit, as far as the ledger knows them.
func (l *localListener) complete(ctx context.Context, w *Word) error {
	w.ControlPlane = ledger.CleanRepository(w.ControlPlane)
	steps, err := l.ledger.Promotions(ctx, ledger.StepQuery{Subject: w.ControlPlane})
	if err != nil {
		return err
	}
	if w.ControlPlane == "" {
		if w.ControlPlane, err = subjectOf(steps, w.Environment); err != nil {
			return err
		}
	}
	if w.Verb == WordRollback && w.Commit == "" {
		return l.lastGood(ctx, w)
	}
	w.Commit, err = fullCommit(steps, w.ControlPlane, w.Commit)
	return err
}

// lastGood finds the commit to go back to.
func (l *localListener) lastGood(ctx context.Context, w *Word) error {
	steps, err := l.ledger.Steps(ctx, ledger.StepQuery{Subject: w.ControlPlane, Environment: w.Environment})
	if err != nil {
		return err
	}
	commit, ok := promote.LastGood(steps)
	if !ok {
		return cli.Failed(fmt.Errorf("no earlier commit is on record that ran well in %q", w.Environment), "name the commit to go back to with --commit")
	}
	w.Commit = commit
	return nil
}

// subjectOf is the one control plane that ever promoted something to an environment.
func subjectOf(steps []ledger.Step, environment string) (string, error) {
	subjects := map[string]bool{}
	for _, s := range steps {
		if s.Environment == environment {
			subjects[s.Subject] = true
		}
	}
	switch names := slices.Sorted(maps.Keys(subjects)); len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", cli.Failed(fmt.Errorf("nothing was ever promoted to %q on this ledger", environment), "name the URL of its control plane with --control-plane")
	default:
		return "", cli.Failed(fmt.Errorf("several control planes have an environment %q", environment), "choose one with --control-plane: "+strings.Join(names, ", "))
	}
}

var (
	fullCommitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	partCommitID = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
)

// fullCommit completes the first digits of a commit that was promoted anywhere.
func fullCommit(steps []ledger.Step, subject, commit string) (string, error) {
	switch {
	case commit == "" || fullCommitID.MatchString(commit):
		return commit, nil
	case !partCommitID.MatchString(commit):
		return "", &cli.Failure{Code: cli.ExitUsage, Err: fmt.Errorf("%q is no commit: want its hash, or at least seven digits of it", commit)}
	}
	found := map[string]bool{}
	for _, s := range steps {
		if s.Subject == subject && strings.HasPrefix(s.Commit, commit) {
			found[s.Commit] = true
		}
	}
	switch all := slices.Sorted(maps.Keys(found)); len(all) {
	case 1:
		return all[0], nil
	case 0:
		return "", cli.Failed(fmt.Errorf("no commit that begins with %s was ever promoted", commit), "name the full hash: git rev-parse shows it")
	default:
		return "", cli.Failed(fmt.Errorf("several commits begin with %s", commit), "name more digits of it")
	}
}

// serverListener asks a server, which knows by the token who is speaking.
type serverListener struct{ client *client.Client }

// Say implements [Listener].
func (s serverListener) Say(ctx context.Context, w Word) (accepted api.Accepted, err error) {
	path := client.Path("environments", w.Environment, w.Verb)
	if w.ControlPlane != "" {
		path += "?" + given().text("controlPlane", w.ControlPlane).values.Encode()
	}
	body := struct {
		Commit string `json:"commit,omitempty"`
		Why    string `json:"why,omitempty"`
	}{w.Commit, w.Why}
	err = s.client.Post(ctx, path, body, &accepted)
	return accepted, err
}
