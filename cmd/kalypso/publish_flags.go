package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// publishFlags say where a version is published, and how. The commands for applications and for the platform share them.
type publishFlags struct {
	to      string
	tags    []string
	keyFile string
	// gitops is the merged commit; empty for the head of the GitOps branch.
	gitops string
}

// bind adds the flags to a command. otherwise is where a version is published without --to; empty for nowhere.
func (f *publishFlags) bind(cmd *cobra.Command, otherwise string) {
	if otherwise != "" {
		otherwise = " (default: " + otherwise + ")"
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "where to: `oci://REGISTRY/REPOSITORY`, or a folder for an OCI image layout"+otherwise)
	flags.StringArrayVar(&f.tags, "tag", nil, "also give the version this `tag`, which is immutable; may be repeated")
	flags.StringVar(&f.keyFile, "key", "", "sign the version with the private key in this `file`")
	flags.StringVar(&f.gitops, "gitops-commit", "", "the merged `commit` of the GitOps branch (default: its head, which also gets the environment's tag)")
}

// place parses the value of a flag, such as --to; it is nothing without one.
func (f *publishFlags) place(cmd *cobra.Command, flag string) (registry.Reference, error) {
	if f.to == "" {
		return registry.Reference{}, nil
	}
	to, err := registry.Parse(f.to)
	switch {
	case err != nil:
		return to, cli.Usage(cmd, "%s %s: %v", flag, f.to, err)
	case to.Tag != "" || to.Digest != "":
		return to, cli.Usage(cmd, "%s is a repository without a tag; each version gets its tags", flag)
	}
	return to, nil
}

// release reads the key.
func (f *publishFlags) release() (registry.Release, error) {
	release := registry.Release{Tags: f.tags, Latest: f.gitops == ""}
	if f.keyFile == "" {
		return release, nil
	}
	text, err := secretfile.Read(f.keyFile)
	if err == nil {
		release.Key, err = hub.ParseReportKey(text)
	}
	if err != nil {
		return release, cli.Failed(fmt.Errorf("read --key: %w", err), "")
	}
	return release, nil
}

// published is the result of publishing a version.
type published struct {
	// Artifact is the reference with the digest of the manifest, Version the digest of the descriptor.
	Artifact string   `json:"artifact"`
	Version  string   `json:"version"`
	Tags     []string `json:"tags"`
	// New is false if the registry had the version already, and Unchanged reports that the merged commit changed nothing in it.
	New        bool                 `json:"new"`
	Unchanged  bool                 `json:"unchanged,omitempty"`
	Signed     bool                 `json:"signed"`
	Descriptor *solution.Descriptor `json:"descriptor"`
}

// publishVersion publishes a version.
func publishVersion(ctx context.Context, t *terminal.Terminal, v *solution.Version, to registry.Reference, release registry.Release) (*published, error) {
	store, err := openStore(t, to, true)
	if err != nil {
		return nil, err
	}
	released, err := store.Release(ctx, v, release)
	if err != nil {
		return nil, err
	}
	d := released.Stored.Descriptor
	return &published{
		Artifact: to.At(released.Stored.Artifact).String(), Version: d.Digest(), Tags: released.Tags, New: released.New, Unchanged: released.Unchanged,
		Signed: release.Key != nil, Descriptor: &d,
	}, nil
}

// openStore opens a registry with the user's credentials, or a folder.
func openStore(t *terminal.Terminal, at registry.Reference, create bool) (*registry.Store, error) {
	client, err := remote.NewUserClient(func(name string) string { return t.Env[name] })
	if err != nil {
		return nil, err
	}
	client.PlainHTTP = isLoopback
	return registry.Open(client, at, create)
}

// keyOf reads a public key.
func keyOf(file string) (ed25519.PublicKey, error) {
	text, err := secretfile.Read(file)
	if err != nil {
		return nil, err
	}
	return hub.ParseReportPublicKey(text)
}

func (r *published) show(w io.Writer) error {
	showVersion(w, r.Descriptor)
	switch {
	case r.Unchanged:
		fmt.Fprintf(w, "unchanged: the merged commit has the files of the published version\n")
	case !r.New:
		fmt.Fprintf(w, "published already\n")
	default:
		fmt.Fprintf(w, "published\n")
	}
	fmt.Fprintf(w, "  %s\n  tags %s\n", terminal.Printable(r.Artifact), terminal.Printable(strings.Join(r.Tags, ", ")))
	if r.Signed {
		fmt.Fprintln(w, "  signed")
	}
	return nil
}

// showVersion shows what a version is, and what it was made from.
func showVersion(w io.Writer, d *solution.Descriptor) {
	fmt.Fprint(w, terminal.Printable(d.Title()))
	if d.Release != "" {
		fmt.Fprintf(w, ", %s", terminal.Printable(d.Release))
	}
	refused := d.Checks.Count(func(l check.Level) bool { return l == check.Refuse })
	warned := d.Checks.Count(func(l check.Level) bool { return l != check.Refuse })
	fmt.Fprintf(w, "\n  version  %s\n", d.Digest())
	width := len("content")
	for _, i := range d.Inputs.All() {
		width = max(width, len(i.Name))
	}
	for _, i := range d.Inputs.All() {
		fmt.Fprintf(w, "  %-*s  %s of branch %s of %s\n", width, i.Name, terminal.Short(i.Commit), terminal.Printable(i.Branch), terminal.Printable(i.Repository))
	}
	for _, target := range d.Targets {
		if target.Pinned != nil {
			fmt.Fprintf(w, "  %s: %s\n", terminal.Printable(target.Name), terminal.Printable(target.Pinned.String()))
		}
	}
	if d.IsPlatform() {
		for _, kept := range d.Inputs.Platform.Kept {
			fmt.Fprintf(w, "  kept     %s, as the GitOps branch had it\n", terminal.Printable(kept))
		}
	}
	fmt.Fprintf(w, "  content  %s, %s, %d bytes\n", terminal.Count(len(d.Targets), "target"), terminal.Count(d.Content.Files, "file"), d.Content.Bytes)
	fmt.Fprintf(w, "  checks   %d refused, %s, by the %s rules\n", refused, terminal.Count(warned, "warning"), d.Checks.Policy)
}
