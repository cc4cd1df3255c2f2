package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// verifyCommand is "kalypso verify".
type verifyCommand struct {
	t       *terminal.Terminal
	output  *cli.Output
	maps    []git.Mapping
	keyFile string
	// application and environment are what the version must be of; empty for any.
	application, environment string
	platform, skip, diff     bool
	// branch is a GitOps branch to compare instead.
	branch verifyBranch
}

// verified is the result of the command.
type verified struct {
	Artifact   string               `json:"artifact"`
	Version    string               `json:"version"`
	Descriptor *solution.Descriptor `json:"descriptor"`
	// Other says how it is not a version of the application and environment that were asked for. A tag can be moved, and another
	// application's version is as well signed as this one's.
	Other []string `json:"other,omitempty"`
	// Signature is "valid", or why it is not; empty if no key was given.
	Signature string `json:"signature,omitempty"`
	// Rebuilt reports whether it was rebuilt. Differences are those from what the commits give, Merged those from the files of the GitOps commit.
	Rebuilt     bool                  `json:"rebuilt"`
	Differences []solution.Difference `json:"differences"`
	Merged      []solution.Difference `json:"mergedDifferences"`
	// By is this program, if the version was made by another release.
	By string `json:"by,omitempty"`
}

const signatureValid = "valid"

func newVerify(t *terminal.Terminal) *cobra.Command {
	c := &verifyCommand{t: t}
	cmd := &cobra.Command{
		Use:   "verify {ARTIFACT | -e ENVIRONMENT}",
		Short: "Verify a published version, or a GitOps branch: that its commits render what it has",
		Long: `Verify a solution version, as "kalypso app publish" or "kalypso platform publish" published it. ARTIFACT is oci://REGISTRY/REPOSITORY:TAG, the same with @DIGEST, or
FOLDER:TAG of an OCI image layout.

    digests ─► signature of --key ─► rebuilt from the commits that it names ─► compared with it, and with the merged files

The command reads the repositories that the artifact names; --map reads them from elsewhere. A repository on the machine where the version was made is only
read with --map. The artifact determines what is rendered, so check its signature with --key if you do not know who published it: without a
valid signature, nothing is rebuilt. A key can sign many applications: --application or --platform, and --environment, say what you expect.

Without an artifact, verify the GitOps branch of an environment: that of the platform with --control-plane, or that of an application with --source. The
command renders the commits that the newest commit of Kalypso on the branch names, and compares all files in the folders that Kalypso writes, added ones
included. It reads clones and folders on this machine as well as remotes, needs no server, and changes nothing.

    merged commit ─► rendered again from the commits that it names ─► compared ─► files that differ, with the commits that changed them

It exits with 3 when the signature is not valid, when it is a version of something else, or when something differs: the output names each file
with the first line that does, or with the commit that changed it.`,
		Example: `  kalypso verify oci://registry.example.com/acme/hello-world-app:dev --key key.pub --application hello-world-app --environment dev
  kalypso verify oci://registry.example.com/acme/hello-world-app:dev-3f2a9c1d0b12 --map https://github.com/acme=/srv/git --diff
  kalypso verify oci://registry.example.com/acme/platform:dev --key key.pub --platform --environment dev
  kalypso verify ./versions:dev --key key.pub --skip-rebuild
  kalypso verify -e prod --control-plane https://github.com/acme/control-plane
  kalypso verify -e dev --source . --gitops-commit 3f2a9c1`,
		Args: cli.AtMost("ARTIFACT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.verifyBranch(cmd)
			}
			return c.run(cmd, args[0])
		},
	}
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(verified{}, verifiedBranch{})
	flags := cmd.Flags()
	flags.Var((*mapFlag)(&c.maps), "map", "read the repository `URL=PATH` from a path; may be repeated")
	flags.StringVar(&c.keyFile, "key", "", "the public key that must have signed it, in this `file`")
	flags.StringVar(&c.application, "application", "", "the application that it must be a version of; default any")
	flags.BoolVar(&c.platform, "platform", false, "it must be a version of the platform, and not of an application")
	flags.StringVarP(&c.environment, "environment", "e", "", "the environment that it must be a version for, or whose GitOps branch is compared; default any")
	flags.BoolVar(&c.skip, "skip-rebuild", false, "check digests and the signature only, without the repositories")
	flags.BoolVar(&c.diff, "diff", false, "show the unified difference of every file")
	c.branch.bind(cmd)
	return cmd
}

func (c *verifyCommand) run(cmd *cobra.Command, artifact string) error {
	if err := leaveOut(cmd, "an artifact names its repositories", verifyBranchFlags...); err != nil {
		return err
	}
	if c.platform && c.application != "" {
		return cli.Usage(cmd, "--platform and --application exclude each other")
	}
	at, err := registry.Parse(artifact)
	if err != nil {
		return cli.Usage(cmd, "%s: %v", artifact, err)
	}
	if at.Tag == "" && at.Digest == "" {
		return cli.Usage(cmd, "which version of %s? add its tag, as in %s:dev, or its digest", artifact, artifact)
	}
	var key ed25519.PublicKey
	if c.keyFile != "" {
		if key, err = keyOf(c.keyFile); err != nil {
			return cli.Failed(fmt.Errorf("read --key: %w", err), "")
		}
	}
	r, err := c.verify(cmd.Context(), at, key)
	if err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	if r.Signature != "" && r.Signature != signatureValid || len(r.Other)+len(r.Differences)+len(r.Merged) > 0 {
		return cli.AnswerNo()
	}
	return nil
}

func (c *verifyCommand) verify(ctx context.Context, at registry.Reference, key ed25519.PublicKey) (*verified, error) {
	store, err := openStore(c.t, at, false)
	if err != nil {
		return nil, err
	}
	name := at.Digest
	if name == "" {
		name = at.Tag
	}
	stored, err := store.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &verified{
		Artifact: at.At(stored.Artifact).String(), Version: stored.Digest(), Descriptor: &stored.Descriptor,
		Differences: []solution.Difference{}, Merged: []solution.Difference{},
	}
	if key != nil {
		if r.Signature, err = signatureOf(ctx, store, stored, key); err != nil || r.Signature != signatureValid {
			return r, err
		}
	}
	r.Other = c.other(r.Descriptor)
	if c.skip || len(r.Other) > 0 {
		return r, nil
	}
	return r, c.rebuild(ctx, stored.Version, r)
}

// other returns how a version is not what was asked for.
func (c *verifyCommand) other(d *solution.Descriptor) (differences []string) {
	switch {
	case c.platform && !d.IsPlatform():
		differences = append(differences, fmt.Sprintf("it is a version of the application %q, not of the platform", d.Application))
	case c.application != "" && d.IsPlatform():
		return append(differences, fmt.Sprintf("it is a version of the platform, not of the application %q", c.application))
	}
	for _, is := range []struct{ what, name, expected string }{
		{"application", d.Application, c.application}, {"environment", d.Environment, c.environment},
	} {
		if is.expected != "" && is.name != is.expected {
			differences = append(differences, fmt.Sprintf("the %s is %q, not %q", is.what, is.name, is.expected))
		}
	}
	return differences
}

// signatureOf returns whether a key signed a version, or why not.
func signatureOf(ctx context.Context, store *registry.Store, stored *registry.Stored, key ed25519.PublicKey) (string, error) {
	bundles, err := store.Bundles(ctx, stored)
	if err != nil {
		return "", err
	}
	result := "it is not signed"
	for _, b := range bundles {
		err := provenance.Verify(b, stored.Version, stored.Artifact, key)
		if err == nil {
			return signatureValid, nil
		}
		result = err.Error()
	}
	return result, nil
}

// rebuild makes the version again, and compares.
func (c *verifyCommand) rebuild(ctx context.Context, v *solution.Version, r *verified) error {
	if err := c.checkLocal(v); err != nil {
		return err
	}
	again := c.rebuildApplication
	if v.IsPlatform() {
		again = c.rebuildPlatform
	}
	rebuilt, merged, err := again(ctx, v)
	if err != nil {
		return err
	}
	r.Rebuilt = true
	r.Differences = append(r.Differences, solution.Compare(v, rebuilt)...)
	r.Merged = append(r.Merged, solution.CompareMerged(v, merged)...)
	if rebuilt.Renderer != v.Renderer {
		r.By = rebuilt.Renderer.Name + " " + rebuilt.Renderer.Version
	}
	return nil
}

// rebuildApplication renders a version of an application again, and returns the files that were merged.
func (c *verifyCommand) rebuildApplication(ctx context.Context, v *solution.Version) (rebuilt *solution.Version, merged []solution.File, err error) {
	s, err := (&appFlags{maps: c.maps}).connect(c.t)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	versions := s.versions()
	if rebuilt, err = versions.Rebuild(ctx, deliver.Request{}, v.Descriptor); err != nil {
		return nil, nil, fmt.Errorf("rebuild it: %w", err)
	}
	if merged, err = versions.Published(ctx, v.Descriptor); err != nil {
		return nil, nil, fmt.Errorf("read what was merged: %w", err)
	}
	return rebuilt, merged, nil
}

// rebuildPlatform schedules a version of the platform again, and returns the files that were merged.
func (c *verifyCommand) rebuildPlatform(ctx context.Context, v *solution.Version) (rebuilt *solution.Version, merged []solution.File, err error) {
	s, err := (&sourceFlags{controlPlane: v.Inputs.Platform.Environment.Repository, environment: v.Environment, maps: c.maps}).open(ctx, c.t)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	if rebuilt, merged, err = s.versions().Rebuild(ctx, v.Descriptor); err != nil {
		return nil, nil, fmt.Errorf("rebuild it: %w", err)
	}
	return rebuilt, merged, nil
}

// checkLocal refuses repositories on this machine that the artifact names and the user does not: a folder there is not the one that it was made from.
func (c *verifyCommand) checkLocal(v *solution.Version) error {
	for _, i := range v.AllInputs() {
		if !fleet.IsLocal(i.Repository) || c.isMapped(i.Repository) {
			continue
		}
		return cli.Failed(fmt.Errorf("the artifact names the repository %q on the machine where it was made", i.Repository),
			"say where it is with --map "+terminal.ShellWord(i.Repository+"=URL or PATH"))
	}
	return nil
}

func (c *verifyCommand) isMapped(repository string) bool {
	for _, m := range c.maps {
		if rest, ok := strings.CutPrefix(repository, strings.TrimSuffix(m.From, "/")); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

func (c *verifyCommand) show(w io.Writer, r *verified) error {
	showVersion(w, r.Descriptor)
	line := func(good bool, text string) {
		mark := c.t.OutStyle.Green("ok")
		if !good {
			mark = c.t.OutStyle.Red("no")
		}
		fmt.Fprintf(w, "%s  %s\n", mark, text)
	}
	line(true, "the digests are those of the files: "+terminal.Printable(r.Artifact))
	switch r.Signature {
	case "":
		fmt.Fprintln(w, "--  the signature was not checked: there is no --key")
	case signatureValid:
		line(true, "the key signed it, with its commits")
	default:
		line(false, "the signature: "+terminal.Printable(r.Signature))
	}
	for _, o := range r.Other {
		line(false, terminal.Printable(o))
	}
	if !r.Rebuilt {
		fmt.Fprintln(w, "--  it was not rebuilt")
		return nil
	}
	c.list(w, line, "its commits render it", "its commits render something else", r.Differences)
	c.list(w, line, "it has the merged files", "it does not have the merged files", r.Merged)
	if r.By != "" {
		fmt.Fprintf(w, "--  it was made by %s %s, and rebuilt by %s\n", terminal.Printable(r.Descriptor.Renderer.Name), terminal.Printable(r.Descriptor.Renderer.Version), r.By)
	}
	return nil
}

func (c *verifyCommand) list(w io.Writer, line func(bool, string), same, other string, differences []solution.Difference) {
	if len(differences) == 0 {
		line(true, same)
		return
	}
	line(false, other)
	for _, d := range differences {
		target := ""
		if d.Target != "" {
			target = terminal.Printable(d.Target) + ": "
		}
		fmt.Fprintf(w, "    %s%s\n", target, terminal.Printable(d.String()))
		if c.diff && d.Diff != "" {
			fmt.Fprintln(w, terminal.PrintableText(strings.TrimSuffix(d.Diff, "\n")))
		}
	}
}
