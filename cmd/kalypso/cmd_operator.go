package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
)

// newOperator returns the command that says where the operator is. It is a program of its own, because the libraries of controllers would make this
// one larger than it may be.
func newOperator() *cobra.Command {
	return &cobra.Command{
		Use:   "operator",
		Short: "Explain how to run the operator (kalypso-operator)",
		Long: `Explain how to run the operator, which is the program kalypso-operator.

The operator schedules control planes that ControlPlane objects of a Kubernetes cluster describe. The Helm chart installs it with
operator.enabled.`,
		Example: "  kalypso operator\n  kalypso-operator --help",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			return cli.Failed(errors.New("the operator is a program of its own: kalypso-operator"),
				"install the Helm chart with operator.enabled, or run kalypso-operator")
		},
	}
}
