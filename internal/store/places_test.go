package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"handrail/internal/testkit"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("STORE_TEST_CHILD"); role != "" {
		os.Exit(child(role))
	}
	code := m.Run()
	postgres.stop()
	os.Exit(code)
}

// server is a PostgreSQL of the tests' own: started by the first test that needs
// it, on a socket in a directory of its own.
type server struct {
	once sync.Once
	dir  string
	cmd  *exec.Cmd
	err  error
	n    int
}

var postgres server

// everywhere runs a test on SQLite and on PostgreSQL.
func everywhere(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "state", "store.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, postgres.database(t)) })
}

// database makes an empty database and returns its URL.
func (p *server) database(t *testing.T) string {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		testkit.Missing(t, "PostgreSQL", "apt-get install postgresql")
	}
	p.once.Do(func() { p.err = p.start(bins[len(bins)-1]) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	p.n++
	name := "test" + strconv.Itoa(p.n)
	db, err := sql.Open("pgx", p.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}

func (p *server) url(database string) string {
	u := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: url.Values{"host": {p.dir}, "user": {"postgres"}}.Encode()}
	return u.String()
}

// start starts the server; as root it runs as the user that Debian made for it.
func (p *server) start(bin string) error {
	var err error
	if p.dir, err = os.MkdirTemp("/tmp", "store-test-"); err != nil {
		return err
	}
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(p.dir, uid, gid); err != nil {
			return err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = p.dir, attr
		return cmd
	}
	data := filepath.Join(p.dir, "data")
	if out, err := run("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	p.cmd = run("postgres", "-D", data, "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	var said bytes.Buffer
	p.cmd.Stderr = &said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ready := run("pg_isready", "-h", p.dir, "-t", "30")
	for range 100 {
		if err = ready.Run(); err == nil {
			return nil
		}
		ready = run("pg_isready", "-h", p.dir, "-t", "30")
		_ = exec.Command("sleep", "0.1").Run()
	}
	return fmt.Errorf("postgres did not start: %w\n%s", err, said.String())
}

func (p *server) stop() {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		_ = p.cmd.Wait()
	}
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// open opens the store at place for one test.
func open(t *testing.T, place string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Options{Place: place, Redact: redact})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// redact takes the one secret of the tests out.
func redact(b json.RawMessage) (json.RawMessage, bool) {
	clean := bytes.ReplaceAll(b, []byte("hush"), []byte("***"))
	return clean, bytes.Equal(clean, b)
}

// writeNotes writes notes at once.
func (s *Store) writeNotes(batch []Note, prune bool) error {
	var errands []errand
	for _, n := range batch {
		errands = append(errands, errand{note: n})
	}
	return s.run(errands, prune)
}
