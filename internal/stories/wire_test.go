package stories

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

var clientInfo = map[string]any{"name": "story", "version": "1"}

func (c *client) capabilities() map[string]any {
	if c.form {
		return map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
	}
	return map[string]any{}
}

// answerOf is what a client sends for an answer of the script.
func answerOf(word string) map[string]any {
	accept := func(content map[string]any) map[string]any {
		return map[string]any{"action": "accept", "content": content}
	}
	switch word {
	case "once":
		return accept(map[string]any{"decision": "allow once"})
	case "session":
		return accept(map[string]any{"decision": "allow for this session"})
	case "deny":
		return accept(map[string]any{"decision": "deny"})
	case "empty":
		return accept(map[string]any{})
	case "wrong":
		return accept(map[string]any{"decision": "allow everything", "approved": true})
	case "cancel":
		return map[string]any{"action": "cancel"}
	}
	return map[string]any{"action": "decline"}
}

// call calls the tool and goes through questions until there is a result, or a
// question to which the script stays silent in the new era, where nothing waits.
func (c *client) call(more map[string]any) error {
	for {
		params := map[string]any{"name": c.tool, "arguments": c.args}
		for k, v := range more {
			params[k] = v
		}
		m, err := c.request("tools/call", params)
		if err != nil {
			return err
		}
		if m.Error != nil {
			fmt.Printf("%s error %d\n", c.tool, m.Error.Code)
			fmt.Fprintln(os.Stderr, m.Error.Message)
			return nil
		}
		var r struct {
			ResultType    string `json:"resultType"`
			RequestState  string `json:"requestState"`
			InputRequests map[string]struct {
				Method string `json:"method"`
				Params struct {
					Message string `json:"message"`
				} `json:"params"`
			} `json:"inputRequests"`
		}
		if err := json.Unmarshal(m.Result, &r); err != nil {
			return err
		}
		if r.ResultType != "input_required" {
			return c.result(m.Result)
		}
		if !c.modern {
			return errors.New("a result of the new era in the old one")
		}
		c.state = r.RequestState
		q, ok := r.InputRequests["approval"]
		if !ok || q.Method != "elicitation/create" {
			return fmt.Errorf("asked for something else: %s", m.Result)
		}
		answer := c.asked(q.Params.Message)
		if answer == "silent" {
			return nil
		}
		more = map[string]any{"inputResponses": map[string]any{"approval": answerOf(answer)}, "requestState": c.state}
	}
}

// again makes a call until the verdict is the one that is wanted, or for two
// seconds in which it must be that all the time. The verdict is printed once.
func (c *client) again(want, call string, until bool) error {
	c.quiet = true
	defer func() { c.quiet = false }()
	began := time.Now()
	for {
		if err := c.step("call " + call); err != nil {
			return err
		}
		switch took := time.Since(began); {
		case until && c.verdict == want, !until && c.verdict == want && took > 2*time.Second:
			fmt.Println(c.tool, want)
			return nil
		case !until && c.verdict != want, took > patience:
			return fmt.Errorf("the verdict is %q", c.verdict)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// asked prints a question and takes the next answer of the script.
func (c *client) asked(message string) string {
	fmt.Printf("%s asked\n", c.tool)
	fmt.Fprintln(os.Stderr, message)
	if !c.form {
		fmt.Println("a client without forms was asked")
	}
	if len(c.answers) == 0 {
		return "silent"
	}
	answer := c.answers[0]
	c.answers = c.answers[1:]
	return answer
}

// result prints what came of a call.
func (c *client) result(raw json.RawMessage) error {
	var r struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured struct {
			Verdict  string `json:"verdict"`
			Approval string `json:"approval"`
			ExitCode *int   `json:"exit_code"`
			CallID   string `json:"call_id"`
			Rule     string `json:"rule"`
			Stdout   string `json:"stdout"`
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	s := r.Structured
	if c.verdict = s.Verdict; c.quiet {
		return nil
	}
	line := c.tool + " " + s.Verdict
	if s.Approval != "" {
		line += " " + s.Approval
	}
	if s.ExitCode != nil {
		line += fmt.Sprint(" exit ", *s.ExitCode)
	}
	if r.IsError {
		line += " error"
	}
	if s.CallID == "" {
		line += " without a call id"
	}
	fmt.Println(line)
	for _, part := range r.Content {
		fmt.Fprintln(os.Stderr, part.Text)
	}
	return nil
}

func (c *client) list() error {
	m, err := c.request("tools/list", map[string]any{})
	if err != nil {
		return err
	}
	var r struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return err
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	fmt.Println(strings.Join(names, " "))
	return nil
}

func (c *client) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(b, '\n'))
	return err
}

// request sends a request and waits for its answer; meanwhile it answers what
// the server asks.
func (c *client) request(method string, params map[string]any) (message, error) {
	c.lastID++
	id := fmt.Sprint(c.lastID)
	if c.modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         clientInfo,
			"io.modelcontextprotocol/clientCapabilities": c.capabilities(),
		}
	}
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.lastID, "method": method, "params": params}); err != nil {
		return message{}, err
	}
	deadline := time.After(patience)
	for {
		select {
		case m, ok := <-c.messages:
			switch {
			case !ok:
				return m, errors.New("the server went away")
			case m.noise != "":
				return m, fmt.Errorf("not a message: %q", m.noise)
			case m.Method != "" && len(m.ID) > 0:
				if err := c.serve(m); err != nil {
					return m, err
				}
			case m.Method == "" && string(m.ID) == id:
				return m, nil
			}
		case <-deadline:
			return message{}, fmt.Errorf("no answer to %s", method)
		}
	}
}

// serve answers a request of the server.
func (c *client) serve(m message) error {
	if c.modern {
		return fmt.Errorf("the server sent a request in the new era: %s", m.Method)
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch m.Method {
	case "elicitation/create":
		var p struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return err
		}
		answer := c.asked(p.Message)
		if answer == "silent" {
			return nil
		}
		reply["result"] = answerOf(answer)
	case "ping":
		reply["result"] = map[string]any{}
	default:
		reply["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	return c.send(reply)
}
