package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// session is what a command reads a control plane with.
type session struct {
	client   *git.Client
	drafter  *schedule.Drafter
	request  schedule.Request
	progress *terminal.Progress
	// folder is where the control plane is checked out; empty if it is not on this machine.
	folder string
	// affected is what uncommitted changes affect; zero if they are not read.
	affected schedule.Destination
}

// open finds the control plane and connects the scheduling flow to the repositories.
func (f *sourceFlags) open(ctx context.Context, t *terminal.Terminal) (*session, error) {
	s := &session{progress: t.Progress()}
	controlPlane, folder, err := f.locate()
	if err != nil {
		return nil, err
	}
	s.folder = folder
	s.client = &git.Client{
		Map:      f.maps,
		Env:      func(name string) string { return t.Env[name] },
		Progress: func(line string) { s.progress.Say("%s", line) },
	}
	if fleet.IsLocal(controlPlane) {
		s.client.Config = controlPlane
		s.client.Map = append(s.client.Map, standIn(ctx, controlPlane)...)
	}
	reader := repository.NewReader(s.client)
	s.drafter = &schedule.Drafter{Charts: &sandbox.Runner{}, Loader: &schedule.Loader{
		Repositories: reader,
		Cache:        &fleet.Cache{},
		Progress:     func(what string) { s.progress.Say("%s", what) },
	}}
	if s.drafter.Schedulers, err = f.schedulers.asker(t, s.drafter.Loader.Repositories); err != nil {
		return nil, err
	}
	s.request = schedule.Request{
		ControlPlane: controlPlane,
		Environment:  f.environment,
		Main:         f.main,
		Branch:       f.envDir,
	}
	if f.uncommitted.given() {
		if err := s.readUncommitted(ctx, f, t, reader); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// close ends the progress line and releases the repositories.
func (s *session) close() {
	s.progress.End()
	_ = s.client.Close() // files were only read
}

// locate returns the control plane as a URL or an absolute path, and the folder where it is checked out, which is another one for a linked work tree.
// Without the flag it is the repository of the current folder.
func (f *sourceFlags) locate() (controlPlane, folder string, err error) {
	if f.controlPlane != "" && !fleet.IsLocal(f.controlPlane) {
		return f.controlPlane, "", nil
	}
	if f.controlPlane != "" {
		folder, err = localPath(f.controlPlane)
		return git.Home(folder), folder, err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	folder, err = git.Discover(here)
	if err != nil && f.main != "" && f.envDir != "" {
		// Two plain folders are a control plane without any repository.
		return here, here, nil
	}
	if err != nil {
		return "", "", cli.Failed(err, "name the control plane with --control-plane FOLDER or URL")
	}
	return git.Home(folder), folder, nil
}

// localPath returns the absolute path of a path or file URL.
func localPath(location string) (string, error) {
	if file, err := url.Parse(location); err == nil && file.Scheme == "file" {
		return filepath.FromSlash(file.Path), nil
	}
	return filepath.Abs(location)
}

// standIn maps the URLs of a local repository's remotes to the repository itself:
// a clone stands for what it was cloned from.
func standIn(ctx context.Context, path string) []git.Mapping {
	client := git.Client{Env: func(string) string { return "" }}
	defer client.Close() //nolint:errcheck // files were only read
	repo, err := client.Open(ctx, path)
	if err != nil {
		return nil // the next command that reads it reports what is wrong
	}
	remotes, err := repo.Remotes()
	if err != nil {
		return nil
	}
	var maps []git.Mapping
	for _, url := range remotes {
		maps = append(maps, git.Mapping{From: url, To: path})
	}
	return maps
}
