package tools

import (
	"strings"
	"testing"

	"handrail/guard"
	"handrail/tools/sandbox"
)

// TestToldOfNoInput: a program that wanted to ask is told that nobody answers.
func TestToldOfNoInput(t *testing.T) {
	b := newBench(t)
	b.Guard.Hold = guard.Trusted
	for text, want := range map[string]bool{"python3 -c 'input()'": true, "stty -a": true, "false": false, "cat": false, "read x": false} {
		if got := strings.Contains(b.bash(t, text, nil).Text, "no standard input"); got != want {
			t.Errorf("%s: told %v", text, got)
		}
	}
}

// TestRefusals reads what real programs print.
func TestRefusals(t *testing.T) {
	for output, want := range map[string]string{
		"error: could not write config file .git/config: Device or resource busy":                           "writing /w/.git/config",
		"bash: line 1: /opt/zz: Read-only file system":                                                      "writing /opt/zz",
		"OSError: [Errno 30] Read-only file system: '/opt/zz'":                                              "writing /opt/zz",
		"touch: cannot touch 'x': Read-only file system":                                                    "writing outside the workspace, or a protected file",
		"curl: (6) Could not resolve host: example.org":                                                     "the network example.org",
		"npm error code EAI_AGAIN":                                                                          "the network",
		`Get "https://proxy.golang.org/x": dial tcp: lookup proxy.golang.org: no such host`:                 "the network proxy.golang.org",
		"curl: (7) Failed to connect to api.example.com port 443 after 0 ms: Could not connect to server":   "the network api.example.com",
		"curl: (7) Failed to connect to 127.0.0.1 port 3000 after 0 ms: Could not connect to server":        "",
		"    cause: Error: getaddrinfo EAI_AGAIN api.example.com":                                           "the network api.example.com",
		"Error: connect ENETUNREACH 93.184.216.34:443 - Local (0.0.0.0:0)":                                  "the network 93.184.216.34",
		"dial tcp 127.0.0.1:5432: connect: connection refused":                                              "",
		"ping: api.example.com: Temporary failure in name resolution":                                       "the network api.example.com",
		"wget: unable to resolve host address 'api.example.com'":                                            "the network api.example.com",
		"OSError: [Errno 101] Network is unreachable":                                                       "the network",
		"FileNotFoundError: [Errno 2] No such file or directory: 'x'":                                       "",
		"ModuleNotFoundError: No module named 'x'":                                                          "",
		"PathNotFoundError: x; TimeroFsError; MaceaccesX; BenoentX /usr/zz":                                 "",
		"error: gpg failed to sign the data":                                                                "sockets and agents of the user (ssh, docker, signing)",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?": "sockets and agents of the user (ssh, docker, signing)",
		"cat: /etc/shadow: Permission denied":                                                               "access to /etc/shadow",
		"bash: ./run.sh: Permission denied":                                                                 "",
		"cat: missing: No such file or directory":                                                           "",
		"--- FAIL: TestX\n    x_test.go:3: got 1, want 2":                                                   "",
		"bash: /w/sub/f: Permission denied":                                                                 "",
	} {
		c := &confined{roots: []string{"/w"}, plan: &plan{policy: &sandbox.Policy{Scratch: "/scratch"}}}
		if got := strings.Join(c.refusals(output), "; "); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

func TestAdvice(t *testing.T) {
	for output, want := range map[string]string{
		"error: gpg failed to sign the data\nfatal: failed to write commit object":                 "--no-gpg-sign",
		"curl: (7) Failed to connect to localhost port 3000 after 0 ms":                            "localhost is the sandbox's own",
		"psql: error: connection to server at \"127.0.0.1\", port 5432 failed: Connection refused": "localhost is the sandbox's own",
		"FAIL: expected 1, got 2": "",
	} {
		if got := strings.Join(advice(output, false), "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
		if got := strings.Join(advice(output, true), "; "); (want == "") != (got == "") || strings.Contains(got, "escalate") || strings.Contains(got, "the user") {
			t.Errorf("%q: a principal of a server is told %q", output, got)
		}
	}
}
