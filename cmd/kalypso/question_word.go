package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/client"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promoting"
	"github.com/kalypso-io/kalypso/internal/server/api"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// What people can say about an environment; the words are those of the API.
const (
	wordPromote  = "promote"
	wordPause    = "pause"
	wordResume   = "resume"
	wordAbort    = "abort"
	wordRollback = "rollback"
)

// word is what a person says about an environment.
type word struct {
	verb, environment string
	// commit is what promote, abort and rollback are about: the hash, or at least seven digits of it. Of a rollback it may be
	// empty, which is the last that ran well.
	commit, why string
	// controlPlane tells environments of one name apart; empty where there is one.
	controlPlane string
}

// listener is who heeds words: [promoting.Control] on a ledger, or a server.
type listener interface {
	Say(ctx context.Context, w word) (api.Accepted, error)
}

// listen finds who heeds words, and does something with them.
func (f *placeFlags) listen(cmd *cobra.Command, t *terminal.Terminal, do func(listener) error) error {
	at, err := f.find(cmd, t)
	if err != nil {
		return err
	}
	if at.server != nil {
		return askServer(do(serverListener{at.server}))
	}
	return withLedger(cmd.Context(), openLedgerThere, at.ledger, func(l ledger.Ledger) error { return do(&localListener{l, t}) })
}

// localListener writes words into a ledger, in the name of whoever runs the program. The next round on it heeds them.
type localListener struct {
	ledger ledger.Ledger
	t      *terminal.Terminal
}

// Say implements [listener].
func (l *localListener) Say(ctx context.Context, w word) (api.Accepted, error) {
	if err := l.complete(ctx, &w); err != nil {
		return api.Accepted{}, err
	}
	if err := record(ctx, l.t, l.ledger, w.verb, w.environment, strings.TrimSpace(w.commit+" "+w.why)); err != nil {
		return api.Accepted{}, err
	}
	said := promoting.Word{Subject: w.controlPlane, Environment: w.environment, Commit: w.commit, By: who(l.t).String(), Why: w.why}
	accepted := api.Accepted{ControlPlane: said.Subject, Environment: said.Environment, Commit: said.Commit, By: said.By, Why: said.Why}
	return accepted, l.tell(ctx, w.verb, said)
}

func (l *localListener) tell(ctx context.Context, verb string, said promoting.Word) error {
	control := promoting.Control{Ledger: l.ledger, Now: l.t.Now}
	switch verb {
	case wordPause:
		return control.Pause(ctx, said)
	case wordResume:
		return control.Resume(ctx, said)
	case wordAbort:
		return control.Abort(ctx, said)
	}
	return control.Order(ctx, said)
}

// complete finds the control plane and the full commit, as far as the ledger knows them.
func (l *localListener) complete(ctx context.Context, w *word) error {
	w.controlPlane = ledger.CleanRepository(w.controlPlane)
	steps, err := l.ledger.Promotions(ctx, ledger.StepQuery{Subject: w.controlPlane})
	if err != nil {
		return err
	}
	if w.controlPlane == "" {
		if w.controlPlane, err = subjectOf(steps, w.environment); err != nil {
			return err
		}
	}
	if w.verb == wordRollback && w.commit == "" {
		return l.lastGood(ctx, w)
	}
	w.commit, err = fullCommit(steps, w.controlPlane, w.commit)
	return err
}

// lastGood finds the commit to go back to.
func (l *localListener) lastGood(ctx context.Context, w *word) error {
	steps, err := l.ledger.Steps(ctx, ledger.StepQuery{Subject: w.controlPlane, Environment: w.environment})
	if err != nil {
		return err
	}
	commit, ok := promoting.LastGood(steps)
	if !ok {
		return failed(fmt.Errorf("no earlier commit is on record that ran well in %q", w.environment), "name the commit to go back to with --commit")
	}
	w.commit = commit
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
		return "", failed(fmt.Errorf("nothing was ever promoted to %q on this ledger", environment), "name the URL of its control plane with --control-plane")
	default:
		return "", failed(fmt.Errorf("several control planes have an environment %q", environment), "choose one with --control-plane: "+strings.Join(names, ", "))
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
		return "", &failure{exitUsage, fmt.Errorf("%q is no commit: want its hash, or at least seven digits of it", commit), ""}
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
		return "", failed(fmt.Errorf("no commit that begins with %s was ever promoted", commit), "name the full hash: git rev-parse shows it")
	default:
		return "", failed(fmt.Errorf("several commits begin with %s", commit), "name more digits of it")
	}
}

// serverListener asks a server, which knows by the token who is speaking.
type serverListener struct{ client *client.Client }

// Say implements [listener].
func (s serverListener) Say(ctx context.Context, w word) (accepted api.Accepted, err error) {
	path := client.Path("environments", w.environment, w.verb)
	if w.controlPlane != "" {
		path += "?" + given().text("controlPlane", w.controlPlane).values.Encode()
	}
	body := struct {
		Commit string `json:"commit,omitempty"`
		Why    string `json:"why,omitempty"`
	}{w.commit, w.why}
	err = s.client.Post(ctx, path, body, &accepted)
	return accepted, err
}
