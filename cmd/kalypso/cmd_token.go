package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

func newToken(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens for the server",
		Long: `Create, list and revoke tokens for the server. The role of a token decides what it allows:

    reader     read everything except tokens and the audit trail
    operator   also promote, pause, resume, abort and roll back commits
    admin      also manage clusters and tokens, and read the audit trail
    join       register new clusters, nothing else

A token is shown only once; the ledger stores its hash. These commands need the token of an admin, or direct access to the
ledger: create the first token that way.`,
		Example: `  kalypso token create ann --role admin --ledger kalypso-data/ledger.db --out admin.token
  kalypso token list`,
	})
	cmd.AddCommand(newTokenCreate(t), newTokenList(t), newTokenRevoke(t))
	return cmd
}

// tokenCreateCommand is "kalypso token create".
type tokenCreateCommand struct {
	t                        *terminal.Terminal
	place                    backend.Flags
	output                   *cli.Output
	role                     string
	expires                  string
	members                  []string
	workspaces, environments []string
	uses                     int
	out                      string
}

func newTokenCreate(t *terminal.Terminal) *cobra.Command {
	c := &tokenCreateCommand{t: t}
	cmd := &cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Create a token",
		Long: `Create a token. It is shown once, or written to a file that only you can read. NAME describes the user or program that it is for
and appears in the audit trail.

With --workspace, the token is only for what belongs to these workspaces, and with --environment only there. The role is then
reader, approver, operator or break-glass.

A token with the role join lets clusters register themselves with the memberships given by --member; * matches any environment
or cluster type.`,
		Example: `  kalypso token create "pipeline of team a" --role operator --expires 90d
  kalypso token create "pipeline of the shop" --role operator --workspace shop --environment dev
  kalypso token create "new west clusters" --role join --member dev/large --member 'stage/*' --expires 24h --uses 3`,
		Args: cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(issuedToken{})
	flags := cmd.Flags()
	flags.StringVar(&c.role, "role", "", "the `role`: reader, operator, break-glass, admin or join; with --workspace also approver (required)")
	completeFlag(cmd, "role", cobra.FixedCompletions([]cobra.Completion{
		string(access.Reader), string(access.Approver), string(access.Operator), string(access.BreakGlass), string(access.Admin), string(access.Join),
	}, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&c.expires, "expires", "", "expire after this `duration`, such as 24h or 90d (default: never; 24h for --role join)")
	flags.StringArrayVar(&c.members, "member", nil, "with --role join: an allowed `ENVIRONMENT/CLUSTERTYPE`; may be repeated")
	flags.StringArrayVar(&c.workspaces, "workspace", nil, "limit the token to the workspace `NAME`; may be repeated")
	flags.StringArrayVar(&c.environments, "environment", nil, "with --workspace: limit the token to the environment `NAME`; may be repeated")
	completeFlag(cmd, "environment", completeFleet(&c.place, t, environmentNames))
	flags.IntVar(&c.uses, "uses", 0, "with --role join: how many clusters can register (default: no limit)")
	flags.StringVar(&c.out, "out", "", "write the token to a new `file` instead of showing it")
	return cmd
}

func (c *tokenCreateCommand) run(cmd *cobra.Command, name string) error {
	wanted, err := c.request(cmd, name)
	if err != nil {
		return err
	}
	file, err := newSecretFile(c.out)
	if err != nil {
		return err
	}
	var made issuedToken
	err = c.place.WithTokens(cmd, c.t, open.OfServer, func(all backend.Tokens) error {
		var err error
		made.NewToken, err = all.Create(cmd.Context(), *wanted)
		return err
	})
	if err != nil {
		return errors.Join(err, file.discard())
	}
	if file != nil {
		if err := file.write(made.Secret); err != nil {
			return cli.Failed(err, fmt.Sprintf("the token is lost; revoke it with kalypso token revoke %s and create another one", terminal.ShellWord(made.ID)))
		}
		made.Secret, made.File = "", c.out
	}
	return c.output.Write(c.t.Out, made, func(w io.Writer) error { return c.show(w, made) })
}

// issuedToken is a new token, with its secret or the file that holds it.
type issuedToken struct {
	api.NewToken
	File string `json:"file,omitempty"`
}

func (c *tokenCreateCommand) request(cmd *cobra.Command, name string) (*api.TokenRequest, error) {
	wanted := &api.TokenRequest{Name: name, Role: c.role, Workspaces: c.workspaces, Environments: c.environments}
	switch limited := len(c.workspaces) > 0; {
	case !limited && len(c.environments) > 0:
		return nil, cli.Usage(cmd, "--environment requires --workspace")
	case limited && !slices.Contains(access.GrantRoles(), access.Role(c.role)):
		return nil, cli.Usage(cmd, "--workspace requires --role reader, approver, operator or break-glass")
	case !limited && c.role == string(access.Approver):
		return nil, cli.Usage(cmd, "--role approver requires --workspace")
	}
	switch access.Role(c.role) {
	case access.Reader, access.Approver, access.Operator, access.BreakGlass, access.Admin:
		if len(c.members) > 0 || c.uses != 0 {
			return nil, cli.Usage(cmd, "--member and --uses require --role join")
		}
	case access.Join:
		c.expires = cmp.Or(c.expires, "24h")
		members, err := parseMembers(c.members)
		if err != nil {
			return nil, cli.AsUsage(cmd, err)
		}
		if len(members) == 0 {
			return nil, cli.Usage(cmd, "no membership given; use --member, for example --member dev/large")
		}
		wanted.Join = &ingest.JoinScope{Memberships: members, Uses: c.uses}
	case "":
		return nil, cli.Usage(cmd, "no role given; use --role with reader, operator, break-glass, admin or join")
	default:
		return nil, cli.Usage(cmd, "--role %q is not one of reader, operator, break-glass, admin and join; clusters get credentials from kalypso cluster register", c.role)
	}
	if c.expires != "" {
		life, ok := cli.ParseAge(c.expires)
		if !ok || life == 0 {
			return nil, cli.Usage(cmd, "--expires %q: want a duration such as 24h or 90d", c.expires)
		}
		wanted.Expires = c.t.Now().Add(life).UTC().Truncate(time.Second)
	}
	return wanted, nil
}

func (c *tokenCreateCommand) show(w io.Writer, made issuedToken) error {
	ends := "does not expire"
	if !made.Expires.IsZero() {
		ends = "expires " + output.NewPrinter(c.t).When(made.Expires)
	}
	fmt.Fprintf(w, "token %s for %s has the role %s and %s\n", terminal.Printable(made.ID), terminal.Printable(made.Name), terminal.Printable(made.Rights()), ends)
	if made.File != "" {
		_, err := fmt.Fprintf(w, "saved to %s; use it with --token-file\n", terminal.Printable(made.File))
		return err
	}
	_, err := fmt.Fprintf(w, "save it now, it is not shown again:\n\n  %s\n", terminal.Printable(made.Secret))
	return err
}

// tokenListCommand is "kalypso token list".
type tokenListCommand struct {
	t      *terminal.Terminal
	place  backend.Flags
	output *cli.Output
	ended  bool
}

func newTokenList(t *terminal.Terminal) *cobra.Command {
	c := &tokenListCommand{t: t}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List tokens, without their secrets",
		Example: `  kalypso token list --all`,
		Args:    cli.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.Tokens{})
	cmd.Flags().BoolVar(&c.ended, "all", false, "include expired and revoked tokens")
	return cmd
}

func (c *tokenListCommand) run(cmd *cobra.Command) error {
	kept := api.Tokens{Items: []api.Token{}}
	err := c.place.WithTokens(cmd, c.t, open.Existing, func(all backend.Tokens) error {
		found, err := all.List(cmd.Context())
		for _, t := range found.Items {
			if c.ended || !isOver(t, c.t.Now()) {
				kept.Items = append(kept.Items, t)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.output.Write(c.t.Out, kept, func(w io.Writer) error { return c.show(w, kept.Items) })
}

// isOver reports whether a token is expired or revoked.
func isOver(t api.Token, now time.Time) bool {
	return !t.Revoked.IsZero() || !t.Expires.IsZero() && !now.Before(t.Expires)
}

func (c *tokenListCommand) show(w io.Writer, kept []api.Token) error {
	if len(kept) == 0 {
		_, err := fmt.Fprintln(w, "no tokens; create one with kalypso token create")
		return err
	}
	s := c.t.OutStyle
	var t terminal.Table
	t.Row(s.Heads("ID", "NAME", "ROLE", "CREATED", "EXPIRES", "BY")...)
	for _, i := range kept {
		expires := terminal.Plain(cmp.Or(strings.TrimPrefix(output.NewPrinter(c.t).When(i.Expires), "-"), "never"))
		switch {
		case !i.Revoked.IsZero():
			expires = terminal.Painted(s.Dim, "revoked "+output.NewPrinter(c.t).When(i.Revoked))
		case isOver(i, c.t.Now()):
			expires = terminal.Painted(s.Dim, "expired "+output.NewPrinter(c.t).When(i.Expires))
		}
		t.Row(terminal.Plain(i.ID), terminal.Plain(i.Name), terminal.Plain(i.Rights()), terminal.Plain(output.NewPrinter(c.t).When(i.Created)), expires, terminal.Plain(i.By))
	}
	return t.Write(w)
}

// tokenRevokeCommand is "kalypso token revoke".
type tokenRevokeCommand struct {
	t      *terminal.Terminal
	place  backend.Flags
	output *cli.Output
}

func newTokenRevoke(t *terminal.Terminal) *cobra.Command {
	c := &tokenRevokeCommand{t: t}
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a token; servers refuse it within seconds",
		Example: `  kalypso token revoke 3f2a9c1d5e6f`,
		Args:    cli.Exactly("ID"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.Token{})
	return cmd
}

func (c *tokenRevokeCommand) run(cmd *cobra.Command, id string) error {
	return c.place.WithTokens(cmd, c.t, open.Existing, func(all backend.Tokens) error {
		ended, err := all.Revoke(cmd.Context(), id)
		if err != nil {
			return err
		}
		return c.output.Write(c.t.Out, ended, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "token %s for %s is revoked\n", terminal.Printable(ended.ID), terminal.Printable(ended.Name))
			return err
		})
	})
}
