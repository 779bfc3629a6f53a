package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// What the conformance suite calls by name (its README, and its scenarios). The
// server, the transport and the gate before it are the real ones.

const (
	image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	audio = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// SetLogLevel and GetLogLevel: the real server offers no logging.
func (s *session) SetLogLevel(mcp.LoggingLevel)  {}
func (s *session) GetLogLevel() mcp.LoggingLevel { return mcp.LoggingLevelDebug }
func (s *session) sampling(ctx context.Context, v *view, text string) (string, error) {
	var out mcp.CreateMessageResult
	err := s.request(ctx, v.send, mcp.MethodSamplingCreateMessage, mcp.CreateMessageParams{MaxTokens: 100,
		Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.TextContent{Type: "text", Text: text}}}}, &out)
	return sampled(&out), err
}

func sampled(r *mcp.CreateMessageResult) string {
	if r == nil {
		return ""
	}
	b, _ := json.Marshal(r.Content)
	var c struct{ Text string }
	_ = json.Unmarshal(b, &c)
	return c.Text
}

type toolFunc func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error)

// fixtures adds everything that the suite calls to a server.
func fixtures(s *Server) {
	for _, option := range []server.ServerOption{server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithCompletions(), server.WithLogging(), server.WithInputSchemaValidation()} {
		option(s.mcp)
	}
	content := map[string][]mcp.Content{
		"test_simple_text":   {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content": {mcp.NewImageContent(image, "image/png")},
		"test_audio_content": {mcp.NewAudioContent(audio, "audio/wav")},
		"test_embedded_resource": {mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "test://embedded-resource",
			MIMEType: "text/plain", Text: "This is an embedded resource content."})},
		"test_multiple_content_types": {mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(image, "image/png"),
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`})},
	}
	for name, c := range content {
		s.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription("content of the suite")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: c}, nil
		})
	}
	f := fixture{s.mcp}
	for name, do := range map[string]toolFunc{
		"test_error_handling": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
		},
		"test_tool_with_logging": f.log, "test_logging_tool": f.logOnce, "test_tool_with_progress": f.progress,
		"test_reconnection": f.log, "test_sampling": f.sample, "test_elicitation": f.ask, "test_streaming_elicitation": f.stream,
		"test_elicitation_sep1034_defaults": f.askDefaults, "test_elicitation_sep1330_enums": f.askEnums,
		"test_missing_capability": f.missing, "test_trigger_tool_change": f.change,
	} {
		s.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription("behaviour of the suite"), mcp.WithSchemaAdditionalProperties(true)), server.ToolHandlerFunc(do))
	}
	for name, do := range map[string]toolFunc{
		"elicitation": f.one("user_name", form("name", "string"), "Hello, %s!"), "sampling": f.oneSample, "list_roots": f.oneRoots,
		"request_state": f.state, "tampered_state": f.state, "multiple_inputs": f.several, "multi_round": f.rounds, "capabilities": f.able,
	} {
		s.mcp.AddTool(mcp.NewTool("test_input_required_result_"+name, mcp.WithDescription("a question of the suite")), server.ToolHandlerFunc(do))
	}
	text := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), nil
	}
	s.mcp.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "a schema of the suite", json.RawMessage(`{
		"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`)), text)
	s.mcp.AddTool(mcp.NewToolWithRawSchema("test_header_tool", "a header of the suite", json.RawMessage(`{
		"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}}}`)), text)
	f.resources()
	f.prompts()
}

type fixture struct{ *server.MCPServer }

func (f fixture) tell(ctx context.Context, method mcp.MCPMethod, params map[string]any) {
	_ = f.SendNotificationToClient(ctx, string(method), params)
}

func (f fixture) log(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, said := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		f.tell(ctx, mcp.MethodNotificationMessage, map[string]any{"level": "info", "logger": "conformance-test-server", "data": said})
	}
	return mcp.NewToolResultText("Tool with logging executed successfully"), nil
}

func (f fixture) logOnce(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	_ = f.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelError, "suite", "one line"))
	return mcp.NewToolResultText("logged"), nil
}

func (f fixture) progress(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
		for _, n := range []int{0, 50, 100} {
			f.tell(ctx, mcp.MethodNotificationProgress, map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": 100})
		}
	}
	return mcp.NewToolResultText("progress reported"), nil
}

func (f fixture) sample(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	v, ok := server.ClientSessionFromContext(ctx).(*view)
	if !ok || server.IsModernRequest(ctx) {
		return mcp.NewToolResultError("not in this era"), nil
	}
	text, err := v.sampling(ctx, v, req.GetString("prompt", ""))
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText("LLM response: " + text), nil
}

func (f fixture) elicit(ctx context.Context, message string, properties map[string]any, required ...string) (*mcp.CallToolResult, error) {
	schema := map[string]any{"type": "object", "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	r, err := f.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: message, RequestedSchema: schema}})
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("Elicitation completed: action=%s, content=%v", r.Action, r.Content)), nil
}

func (f fixture) ask(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return f.elicit(ctx, req.GetString("message", ""), map[string]any{
		"username": map[string]any{"type": "string", "description": "User's response"},
		"email":    map[string]any{"type": "string", "description": "User's email address"}}, "username", "email")
}

func (f fixture) askDefaults(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return f.elicit(ctx, "Provide your information", map[string]any{
		"name":     map[string]any{"type": "string", "default": "John Doe"},
		"age":      map[string]any{"type": "integer", "default": 30},
		"score":    map[string]any{"type": "number", "default": 95.5},
		"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": map[string]any{"type": "boolean", "default": true}})
}

func (f fixture) askEnums(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	named := []any{map[string]any{"const": "value1", "title": "Value One"}, map[string]any{"const": "value2", "title": "Value Two"}}
	return f.elicit(ctx, "Select options", map[string]any{
		"untitledSingle": map[string]any{"type": "string", "enum": []string{"option1", "option2"}},
		"titledSingle":   map[string]any{"type": "string", "oneOf": named},
		"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"Option One", "Option Two"}},
		"untitledMulti":  map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": []string{"option1", "option2"}}},
		"titledMulti":    map[string]any{"type": "array", "items": map[string]any{"anyOf": named}}})
}

func (f fixture) missing(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if capable(ctx).Sampling == nil {
		return nil, mcp.MissingRequiredClientCapabilityError{Capability: "sampling"}
	}
	return mcp.NewToolResultText("ok"), nil
}

func (f fixture) change(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	f.AddTool(mcp.NewTool("test_passing", mcp.WithDescription("comes and goes")), f.log)
	f.DeleteTools("test_passing")
	return mcp.NewToolResultText("changed"), nil
}

func capable(ctx context.Context) mcp.ClientCapabilities {
	if i := server.RequestProtocolInfoFromContext(ctx); i != nil && i.ClientCapabilities != nil {
		return *i.ClientCapabilities
	}
	return mcp.ClientCapabilities{}
}

// Questions of the era of 2026-07-28.

func form(field, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: "Please say " + field, RequestedSchema: map[string]any{"type": "object",
		"properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field}}}
}

var capital = mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser,
	Content: mcp.TextContent{Type: "text", Text: "What is the capital of France?"}}}}

// filled is the text of a field of an accepted form; empty where there is none.
func filled(r mcp.InputResponses, key, field string) string {
	a := server.ElicitationResponse(r, key)
	if a == nil {
		return ""
	}
	c, _ := a.Content.(map[string]any)
	v, ok := c[field].(string)
	if !ok && c[field] != nil {
		v = fmt.Sprint(c[field])
	}
	return v
}

func (f fixture) one(key string, p mcp.ElicitationParams, says string) toolFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if v := filled(req.Params.InputResponses, key, "name"); v != "" {
			return mcp.NewToolResultText(fmt.Sprintf(says, v)), nil
		}
		return server.NewInputRequestBuilder("").Elicit(key, p).ToolResult(), nil
	}
}

func (f fixture) stream(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	_, _ = f.progress(ctx, req)
	return f.one("user_name", form("name", "string"), "Hello, %s!")(ctx, req)
}

func (f fixture) oneSample(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r := server.SamplingResponse(req.Params.InputResponses, "capital_question"); r != nil {
		return mcp.NewToolResultText(sampled(r)), nil
	}
	return server.NewInputRequestBuilder("").Sample("capital_question", capital).ToolResult(), nil
}

func (f fixture) oneRoots(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r := server.RootsResponse(req.Params.InputResponses, "client_roots"); r != nil {
		return mcp.NewToolResultText(fmt.Sprint(r.Roots)), nil
	}
	return server.NewInputRequestBuilder("").Roots("client_roots").ToolResult(), nil
}

var sealKey = rand.Text()

func seal(v string) string {
	mac := hmac.New(sha256.New, []byte(sealKey))
	mac.Write([]byte(v))
	return base64.RawURLEncoding.EncodeToString([]byte(v)) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func unseal(state string) (string, error) {
	head, _, _ := strings.Cut(state, ".")
	b, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || seal(string(b)) != state {
		return "", errors.New("the state was altered")
	}
	return string(b), nil
}

func (f fixture) state(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		if _, err := unseal(req.Params.RequestState); err != nil {
			return nil, err
		}
		if filled(req.Params.InputResponses, "confirm", "ok") != "" {
			return mcp.NewToolResultText("state-ok"), nil
		}
	}
	return server.NewInputRequestBuilder(seal("asked")).Elicit("confirm", form("ok", "boolean")).ToolResult(), nil
}

func (f fixture) several(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r := req.Params.InputResponses
	name, greeting, roots := filled(r, "user_name", "name"), server.SamplingResponse(r, "greeting"), server.RootsResponse(r, "client_roots")
	if name != "" && greeting != nil && roots != nil {
		return mcp.NewToolResultText(name + sampled(greeting) + fmt.Sprint(roots.Roots)), nil
	}
	return server.NewInputRequestBuilder(seal("several")).Elicit("user_name", form("name", "string")).
		Sample("greeting", capital).Roots("client_roots").ToolResult(), nil
}

func (f fixture) rounds(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	state, _ := unseal(req.Params.RequestState)
	if color := filled(req.Params.InputResponses, "step2", "color"); color != "" && strings.HasPrefix(state, "2 ") {
		return mcp.NewToolResultText(state[2:] + " likes " + color), nil
	}
	if name := filled(req.Params.InputResponses, "step1", "name"); name != "" && state == "1" {
		return server.NewInputRequestBuilder(seal("2 "+name)).Elicit("step2", form("color", "string")).ToolResult(), nil
	}
	return server.NewInputRequestBuilder(seal("1")).Elicit("step1", form("name", "string")).ToolResult(), nil
}

func (f fixture) able(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return mcp.NewToolResultText("answered"), nil
	}
	b, can := server.NewInputRequestBuilder(""), capable(ctx)
	if can.Elicitation != nil {
		b = b.Elicit("user_name", form("name", "string"))
	}
	if can.Sampling != nil {
		b = b.Sample("capital_question", capital)
	}
	if can.Elicitation == nil && can.Sampling == nil {
		return mcp.NewToolResultText("nothing can be asked"), nil
	}
	return b.ToolResult(), nil
}

func (f fixture) resources() {
	text := func(uri, kind, content string) func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: content}}, nil
		}
	}
	f.AddResource(mcp.NewResource("test://static-text", "static-text", mcp.WithMIMEType("text/plain")),
		text("test://static-text", "text/plain", "This is the content of the static text resource."))
	f.AddResource(mcp.NewResource("test://watched-resource", "watched-resource", mcp.WithMIMEType("text/plain")),
		text("test://watched-resource", "text/plain", "watched"))
	f.AddResource(mcp.NewResource("test://static-binary", "static-binary", mcp.WithMIMEType("image/png")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: image}}, nil
		})
	f.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")),
		func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return text(req.Params.URI, "application/json", fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id))(ctx, req)
		})
}

func (f fixture) prompts() {
	says := func(c ...mcp.Content) *mcp.GetPromptResult {
		r := &mcp.GetPromptResult{}
		for _, c := range c {
			r.Messages = append(r.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
		}
		return r
	}
	argument := func(name string) mcp.PromptOption {
		return mcp.WithArgument(name, mcp.ArgumentDescription("of the suite"), mcp.RequiredArgument())
	}
	add := func(name string, do func(mcp.GetPromptRequest) *mcp.GetPromptResult, o ...mcp.PromptOption) {
		f.AddPrompt(mcp.NewPrompt(name, append(o, mcp.WithPromptDescription("of the suite"))...),
			func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return do(req), nil })
	}
	add("test_simple_prompt", func(mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewTextContent("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", func(r mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", r.Params.Arguments["arg1"], r.Params.Arguments["arg2"])))
	}, argument("arg1"), argument("arg2"))
	add("test_prompt_with_embedded_resource", func(r mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: r.Params.Arguments["resourceUri"], MIMEType: "text/plain",
			Text: "Embedded resource content for testing."}), mcp.NewTextContent("Please process the embedded resource above."))
	}, argument("resourceUri"))
	add("test_prompt_with_image", func(mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewImageContent(image, "image/png"), mcp.NewTextContent("Please analyze the image above."))
	})
	add("test_input_required_result_prompt", func(r mcp.GetPromptRequest) *mcp.GetPromptResult {
		if v := filled(r.Params.InputResponses, "user_context", "context"); v != "" {
			return says(mcp.NewTextContent(v))
		}
		return server.NewInputRequestBuilder("").Elicit("user_context", form("context", "string")).PromptResult()
	})
}
