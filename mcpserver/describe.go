package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"handrail/elicit"
	"handrail/guard"
	"handrail/tools"
)

// instructions tell the model how to work with the tools. Clients cut them at
// 2 KB.
func instructions(roots []string) string {
	where := "the client's workspace roots, or the directory that the server was started in"
	if len(roots) > 0 {
		where = strings.Join(roots, ", ")
		if len(where) > 500 {
			where = fmt.Sprintf("%s and %d more", roots[0], len(roots)-1)
		}
		if len(where) > 500 {
			where = "the roots that the user set"
		}
	}
	return `Use safe_bash for shell commands, safe_read, safe_write and safe_edit for files, instead of any other shell or file tool.

Workspace: ` + where + `. Relative paths start at the first root.

Every call is subject to safety guards. It runs, it is blocked, or a person is asked first. A blocked call returns an error that begins with "blocked by safety guard" and names the rule, the reason and often what to do instead.
- Do not retry a blocked call, and do not try to reach the same effect in another spelling or with another tool. Explain to the user what was blocked and why, and propose another way.
- When a person declined, accept it and ask what they would like instead. When nobody answered or nobody could be asked, say so: the result tells how to be asked. Only a person can approve a call; no tool can.
- Keep each call to one purpose and spell out file names: what can be read before it runs is asked about less often. Give a short description with safe_bash: it is shown to the person who is asked.
- After safe_read, pass its sha256 as expected_sha256 to safe_edit or safe_write, so that a file that changed in between is not overwritten.`
}

// toolList is the four tools as clients see them, in the order of their names.
func toolList() []mcp.Tool {
	yes, no := mcp.ToBoolPtr(true), mcp.ToBoolPtr(false)
	out := mcp.WithRawOutputSchema(outputSchema())
	return []mcp.Tool{
		mcp.NewTool(tools.Bash, out, mcp.WithInputSchema[tools.BashArgs](),
			mcp.WithToolTitle("Run a shell command, guarded"),
			mcp.WithDescription("Runs a bash script in a fresh shell without terminal or standard input and returns stdout, stderr and the exit code. "+
				"Before it runs, the script is read (never executed) to learn what it would do: paths written or deleted, programs, hosts, rights. "+
				"Ordinary development commands run at once; what reaches outside the workspace, loses work, gains rights or cannot be read is put before a person; what destroys the system is blocked. "+
				"Where the server has a sandbox, commands run contained: they write the workspace and the files that the command names, reach only hosts that it names, and read no credentials. "+
				"When a result says that the sandbox refused something that is needed, name that path or host in the command itself, or repeat the call with escalate and the reason: a person is then asked for this one run. "+
				"Blocked or declined calls return an error with the reason and another way; do not retry them. "+
				"Long output keeps its head and tail; output_id reads all of it. Background processes end with the call; background: true starts a job (a server, a watcher) that lives as long as the session, and output_id reads or ends it."),
			mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: no, DestructiveHint: yes, IdempotentHint: no, OpenWorldHint: yes})),
		mcp.NewTool(tools.Edit, out, mcp.WithInputSchema[tools.EditArgs](),
			mcp.WithToolTitle("Edit a file, guarded"),
			mcp.WithDescription("Replaces one exact piece of text in a file; it must occur exactly once unless replace_all is set, otherwise nothing changes and the error says how often it occurs. "+
				"Line endings, mode and final newline are kept, and the file is replaced atomically. "+
				"Files outside the workspace, secrets and protected configuration are put before a person or blocked. "+
				"With expected_sha256 a file that changed since it was read is left alone."),
			mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: no, DestructiveHint: yes, IdempotentHint: no, OpenWorldHint: no})),
		mcp.NewTool(tools.Read, out, mcp.WithInputSchema[tools.ReadArgs](),
			mcp.WithToolTitle("Read a file, guarded"),
			mcp.WithDescription("Returns the lines of a text file with their numbers, and the SHA-256 of the whole file. offset and limit choose a part. "+
				"Directories, devices and binary files are answered with what they are. "+
				"Private keys and credential stores, and files outside the workspace, are put before a person or blocked."),
			mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: yes, DestructiveHint: no, IdempotentHint: yes, OpenWorldHint: no})),
		mcp.NewTool(tools.Write, out, mcp.WithInputSchema[tools.WriteArgs](),
			mcp.WithToolTitle("Write a file, guarded"),
			mcp.WithDescription("Creates or replaces a file with exactly the given content, atomically; missing directories of the workspace are created. "+
				"Files outside the workspace, secrets and protected configuration are put before a person or blocked. "+
				"With expected_sha256 a file that changed since it was read is left alone."),
			mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: no, DestructiveHint: yes, IdempotentHint: yes, OpenWorldHint: no})),
	}
}

// fieldDocs describe the fields of tools.Result in the output schema.
var fieldDocs = map[string]string{
	"verdict":     "allow: it ran; ask: a person was needed and did not approve; deny: blocked",
	"approval":    "what became of the question; absent if nobody was asked",
	"rule":        "the guard rule that decided",
	"reason":      "why",
	"instead":     "what to do instead",
	"call_id":     "names this call in the audit log",
	"exit_code":   "of the script; 128+n where signal n ended it; absent if it did not run",
	"stdout":      "standard output; the middle is cut where it is long",
	"stderr":      "standard error; the middle is cut where it is long",
	"truncated":   "something was cut",
	"timed_out":   "it was ended because its time was up",
	"duration_ms": "milliseconds that it ran",
	"output_id":   "to read all of an output that was cut, or to read and end a job",
	"next_offset": "where to go on reading the stream",
	"running":     "the job has not ended",
	"sandbox":     "what held the command: the tier, its power, the network it reached, what was refused",
	"path":        "the file, absolute",
	"content":     "the lines that were asked for, numbered",
	"sha256":      "of the whole file as it is now, hexadecimal",
}

// outputSchema is the JSON schema of tools.Result, made from its fields so that
// the two cannot differ. (The library's own generator takes a verdict for the
// number that it is in Go.)
func outputSchema() json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[tools.Result]()) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		p := map[string]any{"description": fieldDocs[name]}
		switch t := f.Type; {
		case t == reflect.TypeFor[guard.Verdict]():
			p["type"], p["enum"] = "string", []string{"allow", "ask", "deny"}
		case t == reflect.TypeFor[elicit.Outcome]():
			p["type"], p["enum"] = "string", []elicit.Outcome{elicit.Approved, elicit.Declined, elicit.Dismissed, elicit.NoAnswer, elicit.Unsupported, elicit.Pending}
		case t.Kind() == reflect.Bool:
			p["type"] = "boolean"
		case t.Kind() == reflect.Int64, t.Kind() == reflect.Int, t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Int:
			p["type"] = "integer"
		case t.Kind() == reflect.Pointer:
			p["type"] = "object"
		default:
			p["type"] = "string"
		}
		properties[name] = p
		if !strings.Contains(rest, "omitempty") {
			required = append(required, name)
		}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil { // strings and maps of strings always marshal
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}
