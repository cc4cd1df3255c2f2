package ingest_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

var update = flag.Bool("update", false, "rewrite the expected results of the cases")

// TestFlux and TestArgo: a file for each rule, with the body that arrives at noon, and what the ledger has of it.
func TestFlux(t *testing.T) {
	runCases(t, "testdata/flux", func(w world, body []byte) error {
		event, err := ingest.ParseFluxEvent(body)
		if err != nil {
			return err
		}
		return w.intake.TakeFlux(t.Context(), "large-07", event, noon)
	})
}

func TestArgo(t *testing.T) {
	runCases(t, "testdata/argocd", func(w world, body []byte) error {
		n, err := ingest.ParseArgoNotification(body)
		if err != nil {
			return err
		}
		return w.intake.TakeArgo(t.Context(), "large-07", n, noon)
	})
}

func runCases(t *testing.T, folder string, take func(w world, body []byte) error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("got %d files, %v, want body and want", len(archive.Files), err)
			}
			w := newWorld(t)
			got := recorded(w, take(w, archive.Files[0].Data))
			if strings.Contains(got, "hunter2") {
				t.Errorf("got a credential:\n%s", got)
			}
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// recorded is what a ledger has, or the refusal.
func recorded(w world, refusal error) string {
	var r *ingest.Refusal
	if errors.As(refusal, &r) {
		return fmt.Sprintf("%v: %v\n", r.Kind, r)
	}
	if refusal != nil {
		w.Fatal(refusal)
	}
	page, err := w.ledger.States(w.Context(), ledger.StateQuery{Cluster: "large-07"})
	if err != nil {
		w.Fatal(err)
	}
	out := fmt.Sprintf("heard %s\n", w.heard().Format("15:04:05"))
	for _, s := range page.States {
		text, err := json.Marshal(s.Outcome)
		if err != nil {
			w.Fatal(err)
		}
		out += fmt.Sprintf("%s since %s\n    %s\n", s.Reconciler, s.Since.Format("15:04:05.999999"), text)
	}
	return out
}
