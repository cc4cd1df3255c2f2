package assistant

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type pauseInput struct {
	Environment  string `json:"environment" jsonschema:"name of the environment, or ENVIRONMENT/RING"`
	ControlPlane string `json:"controlPlane,omitempty" jsonschema:"URL of the control plane; needed only if several have an environment of this name"`
	Why          string `json:"why" jsonschema:"the reason, for the people who will read it"`
	Confirm      string `json:"confirm,omitempty" jsonschema:"what the answer to the first call says to repeat, after the user has agreed"`
}

// addPause adds the only action. A user resumes it.
func addPause(s *mcp.Server, pause func(ctx context.Context, environment, controlPlane, why string) error) {
	no := false
	mcp.AddTool(s, &mcp.Tool{
		Name:        "pause",
		Description: "Pause the promotions into an environment. What runs stays as it is. The user has to agree first, and resumes promotions with kalypso promote resume.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: true},
	}, func(ctx context.Context, r *mcp.CallToolRequest, in pauseInput) (*mcp.CallToolResult, any, error) {
		if strings.TrimSpace(in.Environment) == "" || strings.TrimSpace(in.Why) == "" {
			return nil, nil, fmt.Errorf("name the environment, and say why")
		}
		question := fmt.Sprintf("Pause the promotions into %s? Reason: %s", in.Environment, in.Why)
		given, asked := r.Params.InputResponses[agreement]
		switch {
		case asked:
			if a, ok := given.(*mcp.ElicitResult); !ok || a.Action != "accept" {
				return said("The user did not agree. Nothing was changed."), nil, nil
			}
		case canAsk(r.Session):
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{agreement: &mcp.ElicitParams{
				Message: question, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
			}}}, nil, nil
		case in.Confirm != "pause "+in.Environment:
			return nil, nil, fmt.Errorf("nothing was changed yet. Ask the user: %s If they agree, call this tool again with confirm %q", question, "pause "+in.Environment)
		}
		if err := pause(ctx, in.Environment, in.ControlPlane, in.Why); err != nil {
			return nil, nil, clean(err)
		}
		return said(fmt.Sprintf("Promotions into %s are paused. To go on: kalypso promote resume %s", in.Environment, in.Environment)), nil, nil
	})
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// agreement is the ID of the question to the user.
const agreement = "agreement"

// canAsk reports whether the client asks the user. If it does not, the assistant has to.
func canAsk(session *mcp.ServerSession) bool {
	p := session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil
}
