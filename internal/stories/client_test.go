package stories

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// clientMain is an MCP client that follows a script, for stories to use:
//
//	mcp [-form] SCRIPT SERVER [ARGUMENT]...
//
// ERA is the protocol era: old (2025-11-25) or new (2026-07-28). With -form it
// declares that it shows forms. Lines of the script:
//
//	answer WORD...            how the next questions are answered, in this order
//	call TOOL ARGUMENTS       a call, through question and answer to its result
//	first WORD TOOL ARGUMENTS a call that already brings the answer, without a state
//	retry WORD [TOOL ARGUMENTS]  the last state with an answer, perhaps for another call
//	alter                     change one character of the last state
//	keep FILE, use FILE       write the last state to a file, take it from one
//	list                      the names of the tools
//	do COMMAND                run a command of the shell, as a person would meanwhile
//	until VERDICT TOOL ARGUMENTS  the call again and again until this comes of it
//	stays VERDICT TOOL ARGUMENTS  the call for a while: nothing else may come of it
//
// An answer is one of: once, session, deny, empty (an accept without a choice),
// wrong (an accept with another word), decline, cancel, silent. Standard output
// has one line per event; standard error has the texts.
func clientMain() {
	form := flag.Bool("form", false, "declare form elicitation")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: mcp [-form] SCRIPT SERVER [ARGUMENT]...")
		os.Exit(2)
	}
	if err := play(flag.Arg(0), flag.Args()[1:], *form); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// patience is how long the client waits for a message; longer than any question
// of a story stays open.
const patience = 60 * time.Second

type client struct {
	modern   bool
	form     bool
	in       io.Writer
	messages chan message
	lastID   int
	answers  []string // for the questions to come
	tool     string   // of the last call
	args     json.RawMessage
	state    string // of the last question (new era)
	verdict  string // of the last result
	quiet    bool   // results are not printed
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	noise string // a line that is no message
}

// play starts the server and follows the script to its end.
func play(script string, command []string, form bool) error {
	text, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	server := exec.Command(command[0], command[1:]...)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	c := &client{modern: os.Getenv("ERA") == "new", form: form, in: in, messages: make(chan message, 1000)}
	go c.read(out)
	err = c.follow(string(text))
	in.Close()
	ended := make(chan error, 1)
	go func() {
		for range c.messages { // what it still says
		}
		ended <- server.Wait()
	}()
	select {
	case e := <-ended:
		if e != nil {
			err = errors.Join(err, fmt.Errorf("the server ended with %w", e))
		}
	case <-time.After(patience):
		server.Process.Kill()
		err = errors.Join(err, errors.New("the server does not end when its input does"))
	}
	return err
}

func (c *client) read(out io.Reader) {
	defer close(c.messages)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			m = message{noise: lines.Text()}
		}
		c.messages <- m
	}
}

func (c *client) follow(script string) error {
	if !c.modern {
		if _, err := c.request("initialize", map[string]any{"protocolVersion": "2025-11-25",
			"clientInfo": clientInfo, "capabilities": c.capabilities()}); err != nil {
			return err
		}
		c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	for n, line := range strings.Split(script, "\n") {
		line = os.ExpandEnv(strings.TrimSpace(line))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.step(line); err != nil {
			return fmt.Errorf("line %d: %s: %w", n+1, line, err)
		}
	}
	return nil
}

func (c *client) step(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "answer":
		c.answers = append(c.answers, strings.Fields(rest)...)
		return nil
	case "call":
		c.tool, rest, _ = strings.Cut(rest, " ")
		c.args = json.RawMessage(rest)
		return c.call(nil)
	case "first":
		var answer string
		answer, rest, _ = strings.Cut(rest, " ")
		c.tool, rest, _ = strings.Cut(rest, " ")
		c.args = json.RawMessage(rest)
		return c.call(map[string]any{"inputResponses": map[string]any{"approval": answerOf(answer)}})
	case "retry":
		answer, other, given := strings.Cut(rest, " ")
		if given {
			c.tool, other, _ = strings.Cut(other, " ")
			c.args = json.RawMessage(other)
		}
		return c.call(map[string]any{"inputResponses": map[string]any{"approval": answerOf(answer)}, "requestState": c.state})
	case "alter":
		if c.state != "" {
			b := []byte(c.state)
			i := len(b) / 3
			b[i] = map[bool]byte{true: 'B', false: 'A'}[b[i] == 'A']
			c.state = string(b)
		}
		return nil
	case "keep":
		return os.WriteFile(rest, []byte(c.state), 0o600)
	case "use":
		b, err := os.ReadFile(rest)
		c.state = string(b)
		return err
	case "list":
		return c.list()
	case "do":
		sh := exec.Command("sh", "-c", rest)
		sh.Stdout, sh.Stderr = os.Stderr, os.Stderr
		return sh.Run()
	case "until", "stays":
		want, call, _ := strings.Cut(rest, " ")
		return c.again(want, call, word == "until")
	}
	return fmt.Errorf("%q is not a step", word)
}
