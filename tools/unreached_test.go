package tools

import (
	"strings"
	"testing"

	"handrail/internal/testkit"
)

// TestOffline: what code did not reach is told with the host and how to allow it,
// also where the failure was swallowed; what only prints such words is left alone.
func TestOffline(t *testing.T) {
	testkit.Require(t, "python3", "apt-get install python3")
	b, _ := heldBench(t)
	b.write(t, "ip.py", "import socket\nsocket.create_connection(('93.184.216.34', 443), 3)\n")
	b.write(t, "name.py", "import socket, sys\ntry: socket.getaddrinfo('api.example.com', 443)\nexcept OSError as e: sys.exit('Could not resolve host: api.example.com (%s)' % e)\n")
	b.write(t, "file.py", "open('nosuch')\n")
	b.write(t, "log", "npm error getaddrinfo EAI_AGAIN api.example.com\nOSError: [Errno 101] Network is unreachable\n")
	for command, want := range map[string]string{
		"python3 name.py":                       "the network api.example.com",
		"python3 ip.py":                         "refused: the network",
		"python3 ip.py 2>&1 | cat; true":        "refused: the network",
		"python3 name.py 2>&1 | tail -1; true":  "output names api.example.com",
		"python3 file.py":                       "",
		"python3 file.py 2>&1 | cat; true":      "",
		"cat log; grep -n EAI_AGAIN log | cat":  "",
		"python3 -c 'print(\"network is up\")'": "",
	} {
		res := b.bash(t, command, nil)
		if got := strings.Contains(res.Text, "refused"); got != (want != "") || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", command, res.Text)
		} else if got && !strings.Contains(res.Text, "escalate") {
			t.Errorf("%s: not how to allow it: %s", command, res.Text)
		} else if strings.Contains(res.Text, "https://api.example.com") {
			t.Errorf("%s: output chose what is recommended: %s", command, res.Text)
		}
	}
}
