package assistant

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// unreachable is a control plane that cannot be read.
type unreachable struct{ ControlPlane }

func (unreachable) Documents(context.Context, string) (fleet.Source, error) {
	return fleet.Source{}, errors.New("fetch https://ann:correct-horse-battery@git.example.com/acme/fleet: refused")
}

// TestErrorsOfDocumentsHaveNoCredentials because they are sent to an assistant.
func TestErrorsOfDocumentsHaveNoCredentials(t *testing.T) {
	_, err := readDocument(t.Context(), unreachable{}, documents+"main/a.yaml")
	if err == nil || strings.Contains(err.Error(), "correct-horse-battery") || !strings.Contains(err.Error(), "git.example.com") {
		t.Errorf("got %v", err)
	}
}
