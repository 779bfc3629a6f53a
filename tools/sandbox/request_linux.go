package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// response is an answer of an engine.
type response struct {
	code   int
	status string    // in words
	body   io.Reader // to its length, or the end of the connection
}

// request asks on a new connection and reads the head of the answer. A protocol of
// HTTP/1.0 says that the answer ends with the connection. This is all of HTTP that
// engines need, and so the processes of a sandbox, which are this program too,
// start without the rest of it (see early).
func request(conn net.Conn, method, path, protocol string, body []byte) (*response, error) {
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("%q cannot be asked of an engine", path)
	}
	_, err := fmt.Fprintf(conn, "%s /v1.41%s %s\r\nHost: engine\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, protocol, len(body), body)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	line, err := headLine(in)
	if err != nil {
		return nil, err
	}
	got := &response{body: in}
	version, status, _ := strings.Cut(line, " ")
	if _, err := fmt.Sscanf(status, "%3d", &got.code); err != nil || !strings.HasPrefix(version, "HTTP/1.") {
		return nil, fmt.Errorf("not an answer of an engine: %.80q", line)
	}
	got.status = status
	for line != "" {
		if line, err = headLine(in); err != nil {
			return nil, err
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("not an answer of an engine: %.80q", line)
			}
			got.body = io.LimitReader(in, n)
		}
	}
	return got, nil
}

// headLine reads one line of a head, at most as long as the buffer.
func headLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return strings.TrimRight(string(line), "\r\n"), err
}

// refusal reads the reason of an answer that is an error.
func (r *response) refusal() error {
	var said struct{ Message string }
	b, _ := io.ReadAll(io.LimitReader(r.body, 64<<10))
	if json.Unmarshal(b, &said) != nil || said.Message == "" {
		said.Message = r.status
	}
	return &failure{r.code, said.Message}
}
