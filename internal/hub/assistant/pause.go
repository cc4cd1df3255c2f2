package assistant

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pausing stops promotions, which is the only action. A user resumes them.
//
// The user has to agree first. A client that cannot ask leaves that to the assistant: the first call is answered with the question and a
// code, and only a second call with this code pauses. The code is signed, so that any server of a ledger takes it. It is valid for the same
// caller, environment and reason, for five minutes and, because a pause changes what Check returns, once.
type Pausing struct {
	// Check returns an error unless the promotions exist, and the caller may pause them. The text is a different one after each pause.
	Check func(ctx context.Context, p Promotions) (last string, err error) // required
	// Pause stops the promotions.
	Pause func(ctx context.Context, p Promotions, why string) error // required
	// Caller is who asks: the owner of the credential.
	Caller string
	// Key signs codes. It is the same on all servers of a ledger.
	Key []byte // required
	// Now returns the time. Default: [time.Now].
	Now func() time.Time
}

// Promotions are those into an environment: of the platform, or of one application.
type Promotions struct {
	Environment  string `json:"environment" jsonschema:"name of the environment, or ENVIRONMENT/RING for the platform"`
	Application  string `json:"application,omitempty" jsonschema:"a workload that the server delivers, for its promotions instead of the platform's"`
	ControlPlane string `json:"controlPlane,omitempty" jsonschema:"URL of the control plane; needed only if several have an environment of this name"`
}

// String names them in a question.
func (p Promotions) String() string {
	if p.Application != "" {
		return fmt.Sprintf("the promotions of %s into %s", p.Application, p.Environment)
	}
	return "the promotions into " + p.Environment
}

type pauseInput struct {
	Promotions
	Why     string `json:"why" jsonschema:"the reason, for the people who will read it"`
	Confirm string `json:"confirm,omitempty" jsonschema:"the code in the answer to the first call, after the user has agreed"`
}

// addPause adds the only action.
func addPause(s *mcp.Server, p *Pausing) {
	no := false
	mcp.AddTool(s, &mcp.Tool{
		Name:        "pause",
		Description: "Pause the promotions into an environment: of the platform, or of one application. What runs stays as it is. The user has to agree first, and resumes them.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: true},
	}, func(ctx context.Context, r *mcp.CallToolRequest, in pauseInput) (*mcp.CallToolResult, any, error) {
		answer, err := p.handle(ctx, r, in)
		if err != nil {
			return failed(err), nil, nil
		}
		return answer, nil, nil
	})
}

func (p *Pausing) handle(ctx context.Context, r *mcp.CallToolRequest, in pauseInput) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(in.Environment) == "" || strings.TrimSpace(in.Why) == "" {
		return nil, errors.New("name the environment, and say why")
	}
	last, err := p.Check(ctx, in.Promotions)
	if err != nil {
		return nil, err
	}
	question := fmt.Sprintf("Pause %s? Reason: %s", in.Promotions, in.Why)
	about := []string{"pause", p.Caller, in.Environment, in.Application, in.ControlPlane, in.Why, last}
	given, asked := r.Params.InputResponses[agreement]
	switch {
	case asked:
		if a, ok := given.(*mcp.ElicitResult); !ok || a.Action != "accept" {
			return said("The user did not agree. Nothing was changed."), nil
		}
	case canAsk(r.Session):
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{agreement: &mcp.ElicitParams{
			Message: question, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}}}, nil
	case !confirms(in.Confirm, p.Key, p.now(), about...):
		again := ""
		if in.Confirm != "" {
			again = "This is not the code for this environment and reason, or it has expired. "
		}
		answer := said(fmt.Sprintf("%sNothing was changed yet. Ask the user: %s If they agree, call this tool again within %.0f minutes, with confirm %q",
			again, question, confirmFor.Minutes(), codeOf(p.Key, p.now().Add(confirmFor), about...)))
		answer.IsError = true
		return answer, nil
	}
	if err := p.Pause(ctx, in.Promotions, in.Why); err != nil {
		return nil, err
	}
	resume := "kalypso promote resume " + in.Environment
	if in.Application != "" {
		resume = fmt.Sprintf("POST /api/v1/applications/%s/environments/%s/resume", url.PathEscape(in.Application), url.PathEscape(in.Environment))
	}
	return said(fmt.Sprintf("Paused: %s. To go on: %s", in.Promotions, resume)), nil
}

func (p *Pausing) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
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
