package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// verifyBranch selects the GitOps branch that "kalypso verify" compares if no artifact is given.
type verifyBranch struct{ controlPlane, source, path, workload, config, gitops, commit string }

// verifyBranchFlags have no effect with an artifact.
var verifyBranchFlags = []string{"control-plane", "source", "path", "workload", "config", "gitops", "gitops-commit"}

// verifySourceFlags have no effect without a source.
var verifySourceFlags = []string{"path", "workload", "config", "gitops"}

func (b *verifyBranch) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&b.controlPlane, "control-plane", "", "without an artifact: the control plane, a `folder or URL`")
	flags.StringVar(&b.source, "source", "", "without an artifact: the source of an application, a `folder or URL`")
	flags.StringVar(&b.path, "path", "", "with --source: the `folder` of the Workload in it (default: anywhere)")
	flags.StringVar(&b.workload, "workload", "", "with --source: the `name` of the Workload, where there are several")
	flags.StringVar(&b.config, "config", "", "with --source: its configuration, a `folder or URL` (default: what the Delivery says)")
	flags.StringVar(&b.gitops, "gitops", "", "with --source: its GitOps repository, a `folder or URL` (default: what the Delivery says)")
	flags.StringVar(&b.commit, "gitops-commit", "", "the merged `commit` of the GitOps branch (default: its head)")
}

// verifiedBranch is the result for a GitOps branch.
type verifiedBranch struct {
	Environment string `json:"environment"`
	Repository  string `json:"repository"`
	Branch      string `json:"branch"`
	Commit      string `json:"commit"`
	// Inputs names the commits that it was compared with.
	Inputs string `json:"inputs,omitempty"`
	// Rendered reports whether they render everything that the branch has in the folders that Kalypso writes.
	Rendered bool `json:"rendered"`
	// Unknown explains why it could not be compared.
	Unknown string `json:"unknown,omitempty"`
	// Files are those that differ.
	Files []verifiedFile `json:"files"`
	// Unmanaged are files in these folders that nothing renders, as spec.unmanaged of the GitOpsRepo permits.
	Unmanaged []verifiedFile `json:"unmanaged,omitempty"`
	// Held are the assignments that these commits hold. Nothing renders their files, so they were compared with their inventory only.
	Held []string `json:"held,omitempty"`
}

// verifiedFile is a file that differs, with the commit that changed it and its author, as the commit says without
// proof.
type verifiedFile struct {
	File   string `json:"file"`
	Commit string `json:"commit,omitempty"`
	Author string `json:"author,omitempty"`
}

// verifyBranch compares a GitOps branch with what its commits render.
func (c *verifyCommand) verifyBranch(cmd *cobra.Command) error {
	if err := leaveOut(cmd, "that is about an artifact", "key", "application", "platform", "skip-rebuild", "diff"); err != nil {
		return err
	}
	if c.environment == "" {
		return cli.Usage(cmd, "name an artifact, or an environment to compare its GitOps branch, as in -e dev --control-plane REPOSITORY")
	}
	if (c.branch.controlPlane == "") == (c.branch.source == "") {
		return cli.Usage(cmd, "whose GitOps branch? name one of --control-plane and --source")
	}
	compare := c.auditPlatform
	if c.branch.source != "" {
		compare = c.auditApplication
	} else if err := leaveOut(cmd, "that is about an application", verifySourceFlags...); err != nil {
		return err
	}
	r, err := compare(cmd.Context())
	if err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.showBranch(w, r) }); err != nil {
		return err
	}
	if !r.Rendered {
		return cli.AnswerNo()
	}
	return nil
}

func (c *verifyCommand) auditPlatform(ctx context.Context) (*verifiedBranch, error) {
	s, err := (&sourceFlags{controlPlane: c.branch.controlPlane, environment: c.environment, maps: c.maps}).open(ctx, c.t)
	if err != nil {
		return nil, err
	}
	defer s.close()
	at, audit, err := s.versions().Audit(ctx, s.request, c.branch.commit)
	if err != nil {
		return nil, err
	}
	s.progress.End()
	return c.verifiedBranch(ctx, s.drafter.Loader.Repositories, at, audit), nil
}

func (c *verifyCommand) auditApplication(ctx context.Context) (*verifiedBranch, error) {
	f := &appFlags{source: c.branch.source, path: c.branch.path, workload: c.branch.workload, environment: c.environment, maps: c.maps}
	f.config, f.gitops = c.branch.config, c.branch.gitops
	s, err := f.open(ctx, c.t)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.request.GitOpsCommit = c.branch.commit
	at, audit, err := s.versions().Audit(ctx, deliver.VersionRequest{Request: s.request, Environment: c.environment})
	if err != nil {
		return nil, err
	}
	s.progress.End()
	return c.verifiedBranch(ctx, s.drafter.Loader.Repositories, at, audit), nil
}

// verifiedBranch adds to an audit which commits changed the files.
func (c *verifyCommand) verifiedBranch(ctx context.Context, repositories any, at schedule.Location, a *schedule.Audit) *verifiedBranch {
	r := &verifiedBranch{
		Environment: c.environment, Repository: secret.Redact(at.Repo), Branch: at.Branch, Commit: a.Commit, Inputs: a.Inputs,
		Rendered: a.Rendered(), Unknown: a.Unknown, Files: []verifiedFile{}, Held: a.Held,
	}
	changed := func(file string) verifiedFile {
		change := schedule.ChangeOf(ctx, repositories, at, file)
		return verifiedFile{File: file, Commit: change.Commit, Author: change.Author}
	}
	for _, file := range a.Files {
		r.Files = append(r.Files, changed(file))
	}
	for _, file := range a.Unmanaged {
		r.Unmanaged = append(r.Unmanaged, changed(file))
	}
	return r
}

func (c *verifyCommand) showBranch(w io.Writer, r *verifiedBranch) error {
	fmt.Fprintf(w, "%s of %s, commit %s\n", terminal.Printable(r.Branch), terminal.Printable(r.Repository), fleet.ShortCommit(r.Commit))
	switch {
	case r.Rendered:
		fmt.Fprintf(w, "%s  it has what its commits render: %s\n", c.t.OutStyle.Green("ok"), terminal.Printable(r.Inputs))
	case r.Unknown != "":
		fmt.Fprintf(w, "%s  it cannot be compared: %s\n", c.t.OutStyle.Red("no"), terminal.Printable(r.Unknown))
	}
	if len(r.Files) > 0 {
		fmt.Fprintf(w, "%s  %s not as its commits render: %s\n", c.t.OutStyle.Red("no"), terminal.Count(len(r.Files), "file"), terminal.Printable(r.Inputs))
	}
	showFiles(w, r.Files)
	if len(r.Unmanaged) > 0 {
		fmt.Fprintf(w, "--  %s left to others by spec.unmanaged of the GitOpsRepo, not compared:\n", terminal.Count(len(r.Unmanaged), "file"))
	}
	showFiles(w, r.Unmanaged)
	if len(r.Held) > 0 {
		fmt.Fprintf(w, "--  %s held, so the files were compared with the inventory only; review who changed them:\n", terminal.Count(len(r.Held), "assignment"))
	}
	for _, a := range r.Held {
		fmt.Fprintf(w, "    %s\n", terminal.Printable(a))
	}
	return nil
}

func showFiles(w io.Writer, files []verifiedFile) {
	for _, f := range files {
		fmt.Fprintf(w, "    %s: %s\n", terminal.Printable(f.File), terminal.Printable(schedule.FileChange{Commit: f.Commit, Author: f.Author}.String()))
	}
}
