package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// bundleCommand is "kalypso bundle".
type bundleCommand struct {
	t           *terminal.Terminal
	source      sourceFlags
	output      *cli.Output
	clusterType string
	out         string
	keyFile     string
	zarf        string
	allowed     []string
}

// bundled is the result of the command.
type bundled struct {
	// File is where the bundle was written; empty if it was not.
	File string `json:"file,omitempty"`
	// Zarf is the folder with packages of Zarf.
	Zarf     string          `json:"zarf,omitempty"`
	Manifest *carry.Manifest `json:"manifest"`
}

func newBundle(t *terminal.Terminal) *cobra.Command {
	c := &bundleCommand{t: t}
	cmd := &cobra.Command{
		Use:   "bundle -e ENVIRONMENT --cluster-type NAME --out FILE --key FILE",
		Short: "Package what clusters need into a signed file, and apply it behind an air gap",
		Long: `Package everything that clusters of one type need from an environment into a signed file, for sites without a connection. That includes clusters
of this type with their own values.
The file contains the GitOps branch at its current commit, the applications' branches, charts and images.

    GitOps branch, applications, registries ─► kalypso bundle ─► a file, signed
                                                                  │ carried
    repositories and registry inside ◄─ kalypso bundle apply ◄────┘

Only merged changes are included. If something cannot be fetched, no file is written, unless --allow-missing names it.
The key is an ed25519 key, created with "openssl genpkey -algorithm ed25519". Images are fetched with the credentials of "docker login".

With --zarf, write a folder for "zarf package create" for each assignment that has a zarf.yaml, with the manifests and images of the
same commits.`,
		Example: `  kalypso bundle -e prod --cluster-type drone --out prod-drone.tar --key key.pem --control-plane https://github.com/acme/control-plane
  kalypso bundle -e prod --cluster-type drone --zarf packages
  kalypso bundle apply prod-drone.tar -e prod --cluster-type drone --key key.pub --map https://github.com=/srv/git --registry registry.inside:5000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownWord(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(bundled{})
	flags := cmd.Flags()
	flags.StringVar(&c.clusterType, "cluster-type", "", "the `name` of the cluster type")
	flags.StringVar(&c.out, "out", "", "write the bundle to this `file`")
	flags.StringVar(&c.keyFile, "key", "", "sign the bundle with the private key in this `file`")
	flags.StringVar(&c.zarf, "zarf", "", "write folders for Zarf below this `folder`, which must not exist")
	flags.StringArrayVar(&c.allowed, "allow-missing", nil, "write the bundle without this `name`, as the error shows it; may be repeated")
	_ = cmd.MarkFlagDirname("zarf") // the error only says that the flag does not exist
	cmd.AddCommand(newBundleApply(t))
	return cmd
}

func (c *bundleCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	switch {
	case c.clusterType == "":
		return cli.Usage(cmd, "which cluster type? name it, as in --cluster-type large")
	case c.out == "" && c.zarf == "":
		return cli.Usage(cmd, "where to? use --out FILE, or --zarf FOLDER")
	case (c.out == "") != (c.keyFile == ""):
		return cli.Usage(cmd, "--out and --key go together")
	}
	if err := replaceable(c.out); err != nil {
		return err
	}
	var key ed25519.PrivateKey
	if c.keyFile != "" {
		text, err := secretfile.Read(c.keyFile)
		if err == nil {
			key, err = hub.ParseReportKey(text)
		}
		if err != nil {
			return cli.Failed(fmt.Errorf("read --key: %w", err), "")
		}
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	result, err := c.bundle(cmd.Context(), session, key)
	if err != nil {
		return err
	}
	session.progress.End()
	return c.output.Write(c.t.Out, result, func(w io.Writer) error { return c.show(w, result) })
}

// bundle gathers and writes.
func (c *bundleCommand) bundle(ctx context.Context, s *session, key ed25519.PrivateKey) (*bundled, error) {
	request, err := c.request(ctx, s)
	if err != nil {
		return nil, err
	}
	parent := filepath.Dir(cmp.Or(c.out, filepath.Clean(c.zarf))) // large files stay on the disk that they are written to
	dir, err := os.MkdirTemp(parent, ".kalypso-bundle-")
	if err != nil {
		return nil, fmt.Errorf("create a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	content := filepath.Join(dir, "content")
	registries, err := registriesOutside(c.t, content)
	if err != nil {
		return nil, err
	}
	packer := &carry.Packer{
		Repositories: &repository.Carried{Client: s.client, From: request.GitOps.Repository}, Registries: registries, Renderer: &sandbox.Runner{},
		Progress: func(what string) { s.progress.Say("%s", what) },
	}
	manifest, err := packer.Gather(ctx, request, content)
	if err != nil {
		return nil, err
	}
	if missing := manifest.Unallowed(c.allowed); len(missing) > 0 {
		return nil, refuseMissing(missing)
	}
	result := &bundled{Manifest: manifest}
	if c.zarf != "" {
		packages, err := packer.ZarfPackages(ctx, manifest, request.Assignments)
		if err != nil {
			return nil, err
		}
		if err := writeNewFolder(c.zarf, filepath.Join(dir, "zarf"), packages); err != nil {
			return nil, err
		}
		result.Zarf = c.zarf
	}
	if c.out != "" {
		temporary := filepath.Join(dir, "bundle")
		if err := writeBundle(temporary, manifest, content, key); err != nil {
			return nil, err
		}
		if err := os.Rename(temporary, c.out); err != nil {
			return nil, fmt.Errorf("write the bundle: %w", err)
		}
		result.File = c.out
	}
	return result, nil
}

// request reads what is published for the cluster type.
func (c *bundleCommand) request(ctx context.Context, s *session) (carry.Request, error) {
	none := carry.Request{}
	loaded, err := s.drafter.Loader.Load(ctx, s.request)
	if err != nil {
		return none, err
	}
	gitOps, err := s.drafter.Loader.GitOps(ctx, loaded, "")
	if err != nil {
		return none, err
	}
	if !gitOps.Exists || gitOps.Commit == "" {
		return none, cli.Failed(fmt.Errorf("%s has no commit", gitOps), "merge the pull request of the environment first")
	}
	var known []string
	for _, f := range gitOps.Published.Folders {
		if f.Cluster == "" {
			known = append(known, f.Name)
		}
	}
	if !slices.Contains(known, c.clusterType) {
		return none, cli.Failed(fmt.Errorf("%s has no cluster type %q", gitOps, c.clusterType), "it has "+cmp.Or(strings.Join(known, ", "), "none"))
	}
	request := carry.Request{
		Environment: c.source.environment, ClusterType: c.clusterType, Made: c.t.Now(),
		GitOps: carry.GitOps{Repository: gitOps.Location.Repo, Branch: gitOps.Location.Branch, Commit: gitOps.Commit},
	}
	for _, f := range gitOps.Published.Folders {
		if f.ClusterType != c.clusterType {
			continue
		}
		assignments, err := publishedFiles(gitOps, f)
		if err != nil {
			return none, err
		}
		request.Assignments = append(request.Assignments, assignments...)
	}
	return request, nil
}

// publishedFiles reads the files of a folder.
func publishedFiles(gitOps *schedule.GitOps, folder *bundle.Folder) ([]carry.Assignment, error) {
	var all []carry.Assignment
	for _, a := range folder.Assignments {
		one := carry.Assignment{Cluster: a.Cluster, Target: a.Target, Files: map[string][]byte{}}
		for _, f := range a.Files {
			content, err := gitOps.Published.Read(f.Path)
			if err != nil {
				return nil, fmt.Errorf("read the GitOps branch: %w", err)
			}
			one.Files[path.Base(f.Path)] = content
		}
		all = append(all, one)
	}
	return all, nil
}

// registriesOutside returns access to registries, with a layout in a folder.
func registriesOutside(t *terminal.Terminal, dir string) (carry.Registries, error) {
	client, err := remote.NewUserClient(func(name string) string { return t.Env[name] })
	if err != nil {
		return nil, err
	}
	client.PlainHTTP = isLoopback
	layout, err := client.NewLayout(dir)
	return repository.CarriedRegistries{Client: client, Layout: layout}, err
}

// isLoopback reports whether a host is this machine, where registries are used without encryption, as other programs do.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// refuseMissing returns the error for what could not be fetched.
func refuseMissing(missing []carry.Missing) error {
	var text strings.Builder
	for _, m := range missing {
		fmt.Fprintf(&text, "\n  %s %s: %s", m.Kind, terminal.Printable(m.Name), terminal.Printable(m.Reason))
	}
	return cli.Failed(
		fmt.Errorf("the bundle would not be complete, so none was written:%s", &text),
		"correct this, or leave something out with --allow-missing "+terminal.ShellWord(missing[0].Name))
}

func writeBundle(file string, m *carry.Manifest, dir string, key ed25519.PrivateKey) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	err = carry.Write(f, m, dir, key)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeNewFolder writes files to a folder that does not exist, all of them or none.
func writeNewFolder(dir, temporary string, files map[string][]byte) error {
	if _, err := os.Lstat(dir); err == nil {
		return cli.Failed(fmt.Errorf("%q exists already", dir), "name a folder that does not exist")
	}
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		at := filepath.Join(temporary, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			return err
		}
	}
	return os.Rename(temporary, dir)
}

func (c *bundleCommand) show(w io.Writer, r *bundled) error {
	m := r.Manifest
	fmt.Fprintf(w, "%s for %s at %s of branch %s of %s\n", terminal.Printable(m.Environment), terminal.Printable(m.ClusterType), terminal.Short(m.GitOps.Commit),
		terminal.Printable(m.GitOps.Branch), terminal.Printable(m.GitOps.Repository))
	fmt.Fprintf(w, "  %s, %s, %s, %s\n", terminal.Count(len(m.Targets), "assignment"), repositories(len(m.Repositories)),
		terminal.Count(len(m.Images), "image"), terminal.Count(len(m.Charts), "chart"))
	for _, x := range m.Missing {
		fmt.Fprintf(w, "  without %s %s: %s\n", x.Kind, terminal.Printable(x.Name), terminal.Printable(x.Reason))
	}
	if r.File != "" {
		fmt.Fprintf(w, "written to %s\n", terminal.Printable(r.File))
	}
	if r.Zarf != "" {
		fmt.Fprintf(w, "packages of Zarf written to %s\n", terminal.Printable(r.Zarf))
	}
	return nil
}

func repositories(n int) string {
	if n == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", n)
}
