package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// person answers every question in the same way.
type person mcp.ElicitationResponse

func (p person) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse(p)}, nil
}

// The library's own client, against the server as a process, in both eras.
func TestLibraryClient(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eras(t, func(t *testing.T, modern bool) {
		for _, tt := range []struct {
			name    string
			person  *person
			outcome string
		}{
			{"once", &person{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"decision": "allow once"}}, "approved"},
			{"deny", &person{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"decision": "deny"}}, "declined"},
			{"decline", &person{Action: mcp.ElicitationResponseActionDecline}, "declined"},
			{"cancel", &person{Action: mcp.ElicitationResponseActionCancel}, "dismissed"},
			{"nobody", nil, "unsupported"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				root := place(t)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				var options []client.ClientOption
				if tt.person != nil {
					options = append(options, client.WithElicitationHandler(tt.person))
				}
				if !modern {
					//lint:ignore SA1019 the older era is what is tested here
					options = append(options, client.WithLegacyProtocolOnly())
				}
				c := client.NewClient(transport.NewStdio(self, append(os.Environ(), asServer+"="+root)), options...)
				if err := c.Start(ctx); err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var hello mcp.InitializeRequest
				hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
				hello.Params.ClientInfo = mcp.Implementation{Name: "library", Version: "1"}
				if _, err := c.Initialize(ctx, hello); err != nil {
					t.Fatal(err)
				}
				list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
				if err != nil || len(list.Tools) != 4 {
					t.Fatalf("%v, %v", list, err)
				}
				var call mcp.CallToolRequest
				call.Params.Name, call.Params.Arguments = "safe_write", write("ask-it.txt")
				result, err := c.CallTool(ctx, call)
				if err != nil {
					t.Fatal(err)
				}
				var a toolAnswer
				b, err := json.Marshal(result)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(b, &a); err != nil {
					t.Fatal(err)
				}
				check(t, a, tt.outcome, exists(root, "ask-it.txt"))
			})
		}
	})
}
