package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// settledFolders keeps digests in files, one for each environment of a control plane. The first line identifies the program, and each other
// line is a digest, the newest first. Without a usable folder nothing is kept.
type settledFolders struct {
	folder  string
	program func() (string, error)
}

var _ schedule.Settled = (*settledFolders)(nil)

// maxSettled bounds the digests of an environment, as a multiple of those of its last plan: several branches are planned in turn.
const maxSettled = 4

// keepSettled is how long a file is kept that no plan writes.
const keepSettled = 30 * 24 * time.Hour

// newSettledFolders returns the digests in the user's cache folder; nil if there is none.
func newSettledFolders() schedule.Settled {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return &settledFolders{filepath.Join(cache, "kalypso", "plans"), thisProgram}
}

// thisProgram identifies the running program: another one may render other files. To hash all of it would take longer than many plans.
func thisProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %d", cli.Version(), info.Size(), info.ModTime().UnixNano()), nil
}

// file returns the path of an environment's file.
func (s *settledFolders) file(r schedule.Request) string {
	sum := sha256.Sum256([]byte(r.ControlPlane + "\n" + r.Environment))
	return filepath.Join(s.folder, hex.EncodeToString(sum[:16]))
}

// read returns the lines of an environment's file; none if another program wrote it, or it cannot be read.
func (s *settledFolders) read(r schedule.Request) []string {
	file, err := os.Open(s.file(r))
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(file)
	if program, err := s.program(); err != nil || !lines.Scan() || lines.Text() != program {
		return nil
	}
	var digests []string
	for lines.Scan() {
		digests = append(digests, lines.Text())
	}
	return digests
}

// Known implements [schedule.Settled].
func (s *settledFolders) Known(r schedule.Request) func(fleet.Digest) bool {
	known := map[string]bool{}
	for _, digest := range s.read(r) {
		known[digest] = true
	}
	return func(d fleet.Digest) bool { return known[hex.EncodeToString(d[:])] }
}

// Remember implements [schedule.Settled].
func (s *settledFolders) Remember(r schedule.Request, settled []fleet.Digest) {
	program, err := s.program()
	if err != nil || os.MkdirAll(s.folder, 0o700) != nil {
		return
	}
	s.removeOld()
	var text strings.Builder
	text.WriteString(program + "\n")
	seen := map[string]bool{}
	add := func(digest string) {
		if !seen[digest] && len(seen) < maxSettled*len(settled) {
			seen[digest] = true
			text.WriteString(digest + "\n")
		}
	}
	for _, d := range settled {
		add(hex.EncodeToString(d[:]))
	}
	for _, digest := range s.read(r) {
		add(digest)
	}
	file, err := os.CreateTemp(s.folder, ".new-*")
	if err != nil {
		return
	}
	_, err = file.WriteString(text.String())
	if closed := file.Close(); err != nil || closed != nil || os.Rename(file.Name(), s.file(r)) != nil {
		_ = os.Remove(file.Name()) // nothing is remembered
	}
}

// removeOld removes the files of control planes that are planned no more, and those of programs that were killed.
func (s *settledFolders) removeOld() {
	files, err := os.ReadDir(s.folder)
	if err != nil {
		return
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > keepSettled {
			_ = os.Remove(filepath.Join(s.folder, f.Name())) // else a later plan does
		}
	}
}
