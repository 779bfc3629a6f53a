package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits on arguments, in bytes.
const (
	maxInput   = 32 << 20    // the arguments as sent; escapes make them longer than what they say
	maxText    = 10 << 20    // one text
	maxCommand = 128<<10 - 1 // one argument of a process on Linux (MAX_ARG_STRLEN), with its NUL
)

// Limits on time.
const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 30 * time.Minute
)

// BashArgs are the arguments of safe_bash.
type BashArgs struct {
	Command     string `json:"command,omitempty" jsonschema:"the bash script to run (required unless output_id is given); every call is a fresh non-interactive shell with no standard input and no terminal"`
	Cwd         string `json:"cwd,omitempty" jsonschema:"directory to run in, absolute or relative to the first workspace root; default: the first workspace root"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"milliseconds until the command and all it started are ended; default 120000, at most 1800000"`
	Description string `json:"description,omitempty" jsonschema:"what this is for, in a few words; shown to the person who is asked, never trusted"`
	Escalate    string `json:"escalate,omitempty" jsonschema:"why this call must run without the limits of the sandbox; asks a person for this one run with more power. Only after a result said what the sandbox refused"`
	Background  bool   `json:"background,omitempty" jsonschema:"start a job (a server, a watcher) and return at once with its output_id; it ends with the session, or after timeout_ms"`
	OutputID    string `json:"output_id,omitempty" jsonschema:"instead of command: read the output of a job, or all of an output that was cut"`
	Stream      string `json:"stream,omitempty" jsonschema:"with output_id: stdout or stderr, read from offset; default: what both wrote since the last reading"`
	Offset      int64  `json:"offset,omitempty" jsonschema:"with stream: the first byte to return, counted from 0"`
	Limit       int64  `json:"limit,omitempty" jsonschema:"with output_id: bytes to return of a stream; default and at most 32768"`
	WaitMS      int64  `json:"wait_ms,omitempty" jsonschema:"with output_id of a job: milliseconds to wait for something new; at most 30000"`
	End         bool   `json:"end,omitempty" jsonschema:"with output_id of a job: end it and all it started, and return the rest of its output"`
}

// ReadArgs are the arguments of safe_read.
type ReadArgs struct {
	Path   string `json:"path" jsonschema:"the file, absolute or relative to the first workspace root"`
	Offset int64  `json:"offset,omitempty" jsonschema:"first line to return, counted from 1; default 1"`
	Limit  int64  `json:"limit,omitempty" jsonschema:"number of lines to return; default and at most 2000"`
}

// WriteArgs are the arguments of safe_write.
type WriteArgs struct {
	Path           string `json:"path" jsonschema:"the file to create or replace, absolute or relative to the first workspace root"`
	Content        string `json:"content" jsonschema:"the whole new content, at most 10 MiB; written exactly as given"`
	ExpectedSHA256 string `json:"expected_sha256,omitempty" jsonschema:"sha256 of the file as last read; the write is refused if the file is another one now"`
}

// EditArgs are the arguments of safe_edit.
type EditArgs struct {
	Path           string `json:"path" jsonschema:"the file to change, absolute or relative to the first workspace root"`
	OldString      string `json:"old_string" jsonschema:"the exact text to replace, without line numbers; must occur exactly once unless replace_all is set"`
	NewString      string `json:"new_string" jsonschema:"the text to put in its place"`
	ReplaceAll     bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	ExpectedSHA256 string `json:"expected_sha256,omitempty" jsonschema:"sha256 of the file as last read; the edit is refused if the file is another one now"`
}

// bind reads the arguments of tool strictly. The error names the field and
// says what is allowed.
func bind(tool string, input json.RawMessage) (request, error) {
	var req request
	switch tool {
	case Bash:
		req = &BashArgs{}
	case Read:
		req = &ReadArgs{}
	case Write:
		req = &WriteArgs{}
	case Edit:
		req = &EditArgs{}
	default:
		return nil, fmt.Errorf("there is no tool %q; the tools are %s, %s, %s, %s", tool, Bash, Read, Write, Edit)
	}
	if err := shapes[tool].fill(reflect.ValueOf(req).Elem(), input); err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	if a, ok := req.(*BashArgs); ok && a.OutputID != "" {
		return outputArgs{a}, nil
	}
	return req, nil
}

// fill sets the fields of the struct v from a JSON object. Unknown, repeated
// (in any case) and missing fields, wrong types and trailing data are errors;
// null stands for an absent optional field.
func (s shape) fill(v reflect.Value, input json.RawMessage) error {
	if len(input) > maxInput {
		return fmt.Errorf("the arguments are %d bytes; at most %d are allowed", len(input), maxInput)
	}
	if !utf8.Valid(input) {
		return errors.New("the arguments are not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("the arguments must be one JSON object with the fields %s", s.names)
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return fmt.Errorf("the arguments are not valid JSON: %w", err)
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("field %q is not valid JSON: %w", name, err)
		}
		if seen[strings.ToLower(name)] {
			return fmt.Errorf("field %q is given more than once; give each of %s at most once", name, s.names)
		}
		seen[strings.ToLower(name)] = true
		i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return fmt.Errorf("there is no field %q; the fields are %s", name, s.names)
		}
		if string(raw) == "null" && s.fields[i].optional {
			continue
		}
		if err := set(v.Field(i), name, raw); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is something after the arguments; send one JSON object")
	}
	for _, f := range s.fields {
		if !f.optional && !seen[f.name] {
			return fmt.Errorf("field %q is missing; the fields are %s", f.name, s.names)
		}
	}
	return nil
}

// shape is the fields of a tool's arguments.
type shape struct {
	fields []field // as they stand in the struct
	names  string  // of all, for people
}

type field struct {
	name     string // in JSON
	optional bool
}

// shapes are by tool.
var shapes = map[string]shape{Bash: shapeOf[BashArgs](), Read: shapeOf[ReadArgs](), Write: shapeOf[WriteArgs](), Edit: shapeOf[EditArgs]()}

func shapeOf[Args any]() (s shape) {
	var names []string
	for f := range reflect.TypeFor[Args]().Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		s.fields = append(s.fields, field{name, option == "omitempty"})
	}
	s.names = strings.Join(names, ", ")
	return s
}

// set decodes raw into one field.
func set(v reflect.Value, name string, raw json.RawMessage) error {
	if string(raw) == "null" || json.Unmarshal(raw, v.Addr().Interface()) != nil {
		want := map[reflect.Kind]string{reflect.String: "a string", reflect.Int64: "a whole number", reflect.Bool: "true or false"}[v.Kind()]
		return fmt.Errorf("field %q must be %s, not %s", name, want, clip(string(raw), 60))
	}
	if v.Kind() == reflect.String && v.Len() > maxText {
		return fmt.Errorf("field %q is %d bytes; at most %d are allowed", name, v.Len(), maxText)
	}
	return nil
}

func (a *BashArgs) check() error {
	if a.OutputID != "" {
		return a.checkOutput()
	}
	switch {
	case a.Stream != "" || a.Offset != 0 || a.Limit != 0 || a.WaitMS != 0 || a.End:
		return errors.New(`fields "stream", "offset", "limit", "wait_ms" and "end" go with "output_id"`)
	case strings.TrimSpace(a.Command) == "":
		return errors.New(`field "command" is missing or empty; give the script to run`)
	case len(a.Command) > maxCommand:
		return fmt.Errorf("field \"command\" is %d bytes; at most %d are allowed: write a script with %s and run that", len(a.Command), maxCommand, Write)
	case a.TimeoutMS < 0 || a.TimeoutMS > maxTimeout.Milliseconds() && !a.Background || a.TimeoutMS > jobTimeout.Milliseconds():
		return fmt.Errorf("field \"timeout_ms\" is %d; it must be between 1 and %d (0 or absent: %d)", a.TimeoutMS, maxTimeout.Milliseconds(), defaultTimeout.Milliseconds())
	case a.Cwd != "":
		return errors.Join(noNUL("command", a.Command), plainPath("cwd", a.Cwd))
	}
	return noNUL("command", a.Command)
}

// checkOutput checks arguments that name an output.
func (a *BashArgs) checkOutput() error {
	switch {
	case a.Command != "" || a.Cwd != "" || a.Background || a.TimeoutMS != 0 || a.Escalate != "":
		return errors.New(`with "output_id" nothing runs: leave out "command", "cwd", "background", "escalate" and "timeout_ms"`)
	case a.Stream != "" && a.Stream != "stdout" && a.Stream != "stderr":
		return fmt.Errorf("field \"stream\" must be stdout or stderr, not %q", clip(a.Stream, 60))
	case a.Stream == "" && a.Offset != 0:
		return errors.New(`field "offset" goes with "stream"`)
	case a.Stream != "" && (a.End || a.WaitMS != 0):
		return errors.New(`fields "end" and "wait_ms" go without "stream"`)
	case a.Offset < 0 || a.Limit < 0 || a.Limit > pageBytes:
		return fmt.Errorf("\"offset\" must be 0 or more and \"limit\" between 1 and %d; they are %d and %d", pageBytes, a.Offset, a.Limit)
	case a.WaitMS < 0 || a.WaitMS > maxWait.Milliseconds():
		return fmt.Errorf("field \"wait_ms\" is %d; it must be between 1 and %d", a.WaitMS, maxWait.Milliseconds())
	}
	return nil
}

func (a *ReadArgs) check() error {
	if a.Offset < 0 || a.Limit < 0 || a.Limit > readLines {
		return fmt.Errorf("\"offset\" must be 1 or more and \"limit\" between 1 and %d; they are %d and %d", readLines, a.Offset, a.Limit)
	}
	return plainPath("path", a.Path)
}

func (a *WriteArgs) check() error {
	return errors.Join(plainPath("path", a.Path), plainSHA256(a.ExpectedSHA256))
}

func (a *EditArgs) check() error {
	if a.OldString == "" {
		return fmt.Errorf("field \"old_string\" is empty; give the text to replace, or use %s for a new file", Write)
	}
	return errors.Join(plainPath("path", a.Path), plainSHA256(a.ExpectedSHA256))
}

// plainPath refuses what no file can be called.
func plainPath(name, path string) error {
	switch {
	case path == "":
		return fmt.Errorf("field %q is empty; give a path", name)
	case len(path) > 4096:
		return fmt.Errorf("field %q is %d bytes; at most 4096 are allowed", name, len(path))
	case path[0] == '~' && path != "~" && !strings.HasPrefix(path, "~/"):
		return fmt.Errorf("field %q names another user's home (%s); give an absolute path, or ./%s for a file of that name", name, clip(path, 60), clip(path, 60))
	}
	return noNUL(name, path)
}

func plainSHA256(s string) error {
	if s == "" || len(s) == 64 && strings.Trim(s, "0123456789abcdefABCDEF") == "" {
		return nil
	}
	return fmt.Errorf("field \"expected_sha256\" must be 64 hexadecimal digits, not %q", clip(s, 80))
}

func noNUL(name, s string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return fmt.Errorf("field %q has a NUL byte at offset %d; it cannot be passed on", name, i)
	}
	return nil
}

// clip cuts s to about max bytes at a rune border and marks that.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + "…"
}
