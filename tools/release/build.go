package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// release builds one release.
type release struct {
	Project
	root, out string
	platforms []Platform
	key       *signingKey // nil if the release is not signed
	log       io.Writer

	commit  string
	time    time.Time // of the commit
	version string    // as Go stamps it into the programs
	bin     string    // a folder of its own
	images  []subject // of the statement, with the digest by which they are deployed
}

// binary is a program for one platform.
type binary struct {
	Program
	Platform
	path    string
	info    *buildinfo.BuildInfo
	modules []module // the standard library, and the modules that are linked
	needs   []string // the paths of the modules that the program itself imports
}

// build writes the whole release, or nothing: its files are in a folder beside the wanted one until all are there.
func (r *release) build(ctx context.Context) (err error) {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer os.RemoveAll(r.bin)
	wanted := r.out
	if r.out, err = os.MkdirTemp(filepath.Dir(wanted), ".release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.out)
	if err := r.write(ctx); err != nil {
		return err
	}
	if err := os.Chmod(r.out, 0o755); err != nil { //nolint:gosec // a release is public
		return err
	}
	return os.Rename(r.out, wanted)
}

func (r *release) write(ctx context.Context) error {
	binaries, err := r.compile(ctx)
	if err != nil {
		return err
	}
	if err := r.nameVersion(binaries); err != nil {
		return err
	}
	if err := r.writeFiles(binaries); err != nil {
		return err
	}
	return r.finish(binaries)
}

// prepare checks what is released, and where it goes.
func (r *release) prepare(ctx context.Context) (err error) {
	changes, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the work tree has changes, so this release could not be reproduced: commit or remove them\n%s", changes)
	}
	if r.commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	date, err := r.git(ctx, "show", "--no-patch", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	if r.time, err = time.Parse(time.RFC3339, date); err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.time = r.time.UTC()
	r.out = filepath.Clean(r.out)
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return err
	}
	old, err := os.ReadDir(r.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(old) > 0 {
		return fmt.Errorf("%s is not empty, and the files of two releases must not be mixed: remove it, or name another folder", r.out)
	}
	r.bin, err = os.MkdirTemp("", "kalypso-release-")
	return err
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	out, err := command(ctx, r.root, nil, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// command runs a program, whose error says what it printed.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return out, nil
}

// compile builds each program for its platforms. It is always the whole of Go's settings that decides the bytes: what the
// environment says of flags is ignored.
func (r *release) compile(ctx context.Context) ([]*binary, error) {
	var binaries []*binary
	for _, program := range r.Programs {
		for _, platform := range program.Platforms {
			if slices.Contains(r.platforms, platform) {
				binaries = append(binaries, &binary{Program: program, Platform: platform, path: filepath.Join(r.bin, platform.suffix(), program.Name)})
			}
		}
	}
	if len(binaries) == 0 {
		return nil, errors.New("no program is built for these platforms")
	}
	// The Go tool uses all processors for one build, so that several at a time only need more memory.
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, runtime.NumCPU()/2))
	for _, b := range binaries {
		group.Go(func() error {
			fmt.Fprintf(r.log, "build %s for %s\n", b.Name, b.Platform)
			return r.compileOne(ctx, b)
		})
	}
	return binaries, group.Wait()
}

func (r *release) compileOne(ctx context.Context, b *binary) error {
	env := append(b.environment(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
	if b.Arch == "amd64" {
		env = append(env, "GOAMD64=v1")
	}
	_, err := command(ctx, r.root, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", b.path, b.Package)
	if err != nil {
		return err
	}
	if b.info, err = buildinfo.ReadFile(b.path); err != nil {
		return err
	}
	return r.readModules(ctx, b)
}

// nameVersion takes the version that Go stamped into the programs: the tag of the commit, or a pseudo-version.
func (r *release) nameVersion(binaries []*binary) error {
	r.version = binaries[0].info.Main.Version
	for _, b := range binaries {
		for _, s := range b.info.Settings {
			if s.Key == "vcs.revision" && s.Value != r.commit {
				return fmt.Errorf("%s was built from commit %s, and not from %s", b.Name, s.Value, r.commit)
			}
		}
		if b.info.Main.Version != r.version {
			return fmt.Errorf("%s has version %s, and %s has %s", b.Name, b.info.Main.Version, binaries[0].Name, r.version)
		}
	}
	if r.version == "" || r.version == "(devel)" || strings.Contains(r.version, "+dirty") {
		return fmt.Errorf("the programs have no version (%q): build in a clone with its history", r.version)
	}
	return nil
}

// writeFiles writes everything but what describes the other files.
func (r *release) writeFiles(binaries []*binary) error {
	for _, b := range binaries {
		if err := r.writeArchive(b); err != nil {
			return err
		}
		if err := r.writeBill(b); err != nil {
			return err
		}
	}
	for _, program := range r.Programs {
		of := slices.DeleteFunc(slices.Clone(binaries), func(b *binary) bool { return b.Name != program.Name || b.OS != "linux" })
		if program.Image && len(of) > 0 {
			if err := r.writeImage(program, of); err != nil {
				return err
			}
		}
	}
	if r.Chart != "" {
		if err := r.writeChart(); err != nil {
			return err
		}
	}
	if r.Title != "" {
		return r.writeDocs()
	}
	return nil
}

// file returns the path of a file of the release.
func (r *release) file(format string, args ...any) string {
	return filepath.Join(r.out, fmt.Sprintf(format, args...))
}
