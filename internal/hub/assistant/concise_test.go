package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// failedFleet has a commit that three environments have, and that fails in the last one, after a long history.
type failedFleet struct{ filled }

func (failedFleet) Promotion(context.Context, query.PromotionQuery) (query.PromotionDetail, error) {
	const subject, commit = "https://git.example.com/acme/platform/control-plane", "0123456789abcdef0123456789abcdef01234567"
	reason := "2 of 40 clusters failed: " + strings.Repeat("Deployment dev-shop/web exceeded its progress deadline; ", 3)
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	d := query.PromotionDetail{Subject: subject, Kind: "platform", Commit: commit, Title: "shop: use the new image"}
	for _, environment := range []string{"dev", "stage", "prod"} {
		s := query.PromotionStage{Environment: environment, Current: true, Phase: "good", Started: at, Deployed: at}
		for i := range 30 {
			s.Steps = append(s.Steps, ledger.Step{
				PromotionID: ledger.PromotionID{Subject: subject, Commit: commit, Environment: environment}, Kind: "status", Reason: reason, At: at,
				Detail: json.RawMessage(`{"target":"` + strings.Repeat("x", 300) + `"}`), By: fmt.Sprint("user-", i),
			})
		}
		d.Stages = append(d.Stages, s)
	}
	failed := &d.Stages[2]
	failed.Phase, failed.Reason, failed.Failed = "failed", reason, at
	failed.Gate = &query.Gate{Commit: commit, SourceCommit: commit, Result: "failed", Reason: reason}
	for i := range 2 {
		cluster := fmt.Sprint("west-", i)
		failed.Gate.Causes = append(failed.Gate.Causes, comply.Cause{State: comply.Broken, Count: 1, Clusters: []string{cluster}, Reason: reason, Since: at})
		failed.Gate.Worst = append(failed.Gate.Worst, comply.Reconciler{Cluster: cluster, State: comply.Broken, Reason: reason, Since: at})
	}
	return d, nil
}

// A failed promotion is answered in less than 4 kB, with its reason. Its history is there for those who ask for it.
func TestAFailedPromotionIsASmallAnswer(t *testing.T) {
	session := connect(t, failedFleet{})
	ask := func(arguments map[string]any) string {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_promotion", Arguments: arguments})
		if err != nil || r.IsError {
			t.Fatalf("%v %v: %+v", arguments, err, r)
		}
		return r.Content[1].(*mcp.TextContent).Text
	}
	small := ask(map[string]any{"commit": "0123456"})
	if len(small) >= 4000 || !strings.Contains(small, `"phase":"failed"`) || !strings.Contains(small, "progress deadline") {
		t.Errorf("%d bytes: %s", len(small), small)
	}
	if whole := ask(map[string]any{"commit": "0123456", "steps": 10}); strings.Count(whole, "user-") != 30 {
		t.Errorf("with 10 steps, the answer has %d of 30", strings.Count(whole, "user-"))
	}
}

// A misspelt argument is an error, and not a question about everything.
func TestUnknownArgumentsAreRefused(t *testing.T) {
	session := connect(t, filled{})
	for tool, arguments := range map[string]map[string]any{
		"list_clusters": {"enviroment": "dev"}, "get_promotion": {"commit": "0123456", "steps": -1}, "list_environments": {"limit": "many"},
	} {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err == nil && !r.IsError {
			t.Errorf("%s %v is answered", tool, arguments)
		}
	}
}
