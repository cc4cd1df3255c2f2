package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// askAssistant asks "kalypso mcp", which it starts with the flags before --, or the server at a URL with the token in a file. It calls a tool with
// JSON, reads a resource, or lists the tools or resources, and prints the texts of the answer. With agree or refuse, it asks the user, who does
// that. With confirm, it cannot ask, and calls the tool again with the code of the answer.
//
//	[!] ask [--flag ... | URL [TOKENFILE]] -- (TOOL JSON | URI | tools | resources) [agree | refuse | confirm]
func askAssistant(ts *testscript.TestScript, neg bool, args []string) {
	i := slices.Index(args, "--")
	if i < 0 || i == len(args)-1 {
		ts.Fatalf("usage: [!] ask [--flag ... | URL [TOKENFILE]] -- (TOOL JSON | URI | tools | resources) [agree | refuse | confirm]")
	}
	at, request := args[:i], args[i+1:]
	options := &mcp.ClientOptions{}
	switch request[len(request)-1] {
	case "agree", "refuse":
		action := map[string]string{"agree": "accept", "refuse": "decline"}[request[len(request)-1]]
		options.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Fprintln(ts.Stdout(), "asked:", r.Params.Message)
			return &mcp.ElicitResult{Action: action}, nil
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, options).Connect(ctx, assistantTransport(ts, at), nil)
	if err != nil && neg {
		fmt.Fprintln(ts.Stdout(), err)
		return
	}
	ts.Check(err)
	defer session.Close() //nolint:errcheck // it was only read
	if failed := talk(ctx, ts, session, request); failed != neg {
		ts.Fatalf("%s: failed=%v", strings.Join(request, " "), failed)
	}
}

// assistantTransport connects to a program that it starts, or to a server.
func assistantTransport(ts *testscript.TestScript, at []string) mcp.Transport {
	if len(at) > 0 && strings.Contains(at[0], "://") {
		file := "data/admin-token"
		if len(at) > 1 {
			file = at[1]
		}
		token := strings.TrimSpace(ts.ReadFile(file))
		return &mcp.StreamableClientTransport{
			Endpoint: at[0] + api.AssistantPath, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1, DisableStandaloneSSE: true,
		}
	}
	program := exec.Command("kalypso", append([]string{"mcp"}, at...)...)
	program.Dir, program.Env, program.Stderr = ts.MkAbs("."), scriptEnvironment(ts), ts.Stderr()
	return &mcp.CommandTransport{Command: program}
}

// bearer is a token that is sent with each request.
type bearer string

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// talk sends a request, prints its answer, and reports whether it is an error.
func talk(ctx context.Context, ts *testscript.TestScript, session *mcp.ClientSession, request []string) (failed bool) {
	switch {
	case request[0] == "tools":
		for tool, err := range session.Tools(ctx, nil) {
			ts.Check(err)
			fmt.Fprintf(ts.Stdout(), "%s (reads only: %v)\n", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	case request[0] == "resources":
		for resource, err := range session.Resources(ctx, nil) {
			ts.Check(err)
			fmt.Fprintln(ts.Stdout(), resource.URI)
		}
	case strings.Contains(request[0], "://"):
		r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: request[0]})
		if err != nil {
			fmt.Fprintln(ts.Stdout(), err)
			return true
		}
		for _, c := range r.Contents {
			fmt.Fprintf(ts.Stdout(), "%v\n%s\n", c.Meta, c.Text)
		}
	default:
		input := map[string]any{}
		ts.Check(json.Unmarshal([]byte(request[1]), &input))
		text, failed := callTool(ctx, ts, session, request[0], input)
		if request[len(request)-1] == "confirm" {
			code := confirmCode.FindStringSubmatch(text)
			if code == nil {
				ts.Fatalf("no code to confirm with")
			}
			input["confirm"] = code[1]
			_, failed = callTool(ctx, ts, session, request[0], input)
		}
		return failed
	}
	return false
}

var confirmCode = regexp.MustCompile(`with confirm "([A-Z2-7]+)"`)

// callTool calls a tool, and prints and returns its answer.
func callTool(ctx context.Context, ts *testscript.TestScript, session *mcp.ClientSession, tool string, input map[string]any) (text string, failed bool) {
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: input})
	if err != nil {
		fmt.Fprintln(ts.Stdout(), err)
		return err.Error(), true
	}
	for _, c := range r.Content {
		text += c.(*mcp.TextContent).Text + "\n"
	}
	fmt.Fprint(ts.Stdout(), text)
	return text, r.IsError
}
