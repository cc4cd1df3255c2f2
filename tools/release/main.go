// Command release builds a release of Kalypso: archives of the programs, container images, the Helm chart, the documentation site,
// bills of materials, checksums, and a signed statement of where they come from. It needs Go and Git, and no network once Go's modules are there.
//
//	go -C tools/release run . --out ../../dist
//	go -C tools/release run . --out ../../dist --key release.pem
//	go -C tools/release run . verify --out ../../dist --public-key release.pub
//	go -C tools/release run . push --out ../../dist --registry ghcr.io/kalypso-io
//	go -C tools/release run . site --out ../../dist-site
//
// The same commit gives the same bytes, on any machine: file times are those of the commit, and signatures are Ed25519, which is
// deterministic. A work tree with changes is refused, because its release could not be reproduced.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "verify":
			return runVerify(args[1:], log)
		case "push":
			return runPush(ctx, args[1:], log)
		case "site":
			return runSite(ctx, args[1:], log)
		}
	}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(log)
	root := flags.String("root", "../..", "the `folder` of the repository")
	out := flags.String("out", "", "the `folder` to write, which must be empty or not exist")
	platforms := flags.String("platforms", strings.Join(allPlatforms(kalypso.Programs), ","), "what to build for, as a comma-separated `list`")
	key := flags.String("key", "", "the `file` with the Ed25519 key that signs the release, in PEM (default: the release is not signed)")
	if err := parse(flags, args, "out"); err != nil {
		return err
	}
	r := &release{Project: kalypso, root: *root, out: *out, log: log}
	var err error
	if r.platforms, err = parsePlatforms(*platforms); err != nil {
		return err
	}
	if *key != "" {
		if r.key, err = readKey(*key); err != nil {
			return err
		}
	}
	return r.build(ctx)
}

// parse reads a command line without arguments, in which some flags are required.
func parse(flags *flag.FlagSet, args []string, required ...string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not an argument", flags.Arg(0))
	}
	for _, name := range required {
		if f := flags.Lookup(name); f.Value.String() == "" {
			_, usage := flag.UnquoteUsage(f)
			return fmt.Errorf("--%s is required: %s", name, usage)
		}
	}
	return nil
}

func runVerify(args []string, log io.Writer) error {
	flags := flag.NewFlagSet("release verify", flag.ContinueOnError)
	flags.SetOutput(log)
	out := flags.String("out", "", "the `folder` with the release")
	key := flags.String("public-key", "", "the `file` with the public key, in PEM")
	if err := parse(flags, args, "out", "public-key"); err != nil {
		return err
	}
	s, err := verifyRelease(*out, *key)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "the files are those that were built from commit %s; images:\n", s.commit())
	for _, i := range s.images() {
		fmt.Fprintf(log, "  %s@sha256:%s\n", i.Name, i.Digest["sha256"])
	}
	return nil
}

func runPush(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("release push", flag.ContinueOnError)
	flags.SetOutput(log)
	out := flags.String("out", "", "the `folder` with the release")
	registry := flags.String("registry", "", "the `registry` and path to push to, such as ghcr.io/kalypso-io")
	if err := parse(flags, args, "out", "registry"); err != nil {
		return err
	}
	return push(ctx, *out, *registry, log)
}

func runSite(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("release site", flag.ContinueOnError)
	flags.SetOutput(log)
	root := flags.String("root", "../..", "the `folder` of the repository")
	out := flags.String("out", "", "the `folder` to write, which must be empty or not exist")
	if err := parse(flags, args, "out"); err != nil {
		return err
	}
	return writeSite(ctx, kalypso, *root, *out, log)
}
