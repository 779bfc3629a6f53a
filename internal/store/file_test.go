package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/elicit"
)

func TestFileOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "store.db")
	s := open(t, path)
	leave(t, s, "mytool x")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	s.Close()
	for name, spoil := range map[string]func(path string) error{
		"a link":             func(p string) error { return os.Symlink(path, p) },
		"a directory":        func(p string) error { return os.Mkdir(p, 0o700) },
		"another name":       func(p string) error { return os.Link(path, p) },
		"writable by others": func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o622)) },
	} {
		bad := filepath.Join(dir, "bad.db")
		if err := spoil(bad); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(t.Context(), Options{Place: bad}); err == nil {
			s.Close()
			t.Errorf("%s was opened", name)
		}
		os.Remove(bad)
	}
}

// A file that was moved away or replaced takes nothing more: nobody would find it.
func TestFileThatMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	if err := s.Writable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"moved away", "replaced"} {
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if what == "replaced" {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Writable(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := s.Leave(t.Context(), Waiting{Question: elicit.Question{Digest: "d"}}); err == nil {
			t.Errorf("%s: it is written on", what)
		}
		if err := errors.Join(os.Rename(path+".away", path), s.Writable(t.Context())); err != nil {
			t.Errorf("brought back: %v", err)
		}
	}
}

func TestDamage(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"no database": func([]byte) []byte { return []byte(strings.Repeat("not a database ", 1000)) },
		"header":      func(b []byte) []byte { copy(b, "SQLite format 9"); return b },
		"pages": func(b []byte) []byte {
			for i := 4096; i < len(b); i++ {
				b[i] = byte(i * 7)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s := open(t, path)
			w, c, d := leave(t, s, "mytool build")
			if _, err := s.Answer(t.Context(), w.ID, elicit.AllowSession, "ann", time.Time{}); err != nil {
				t.Fatal(err)
			}
			s.Close()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, spoil(b), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err = Open(t.Context(), Options{Place: path})
			if err == nil {
				defer s.Close()
				var ok bool
				if _, ok, err = NewLedger(s, believed).Cover(t.Context(), c, d); ok {
					t.Error("a grant of a damaged store holds")
				}
			}
			if err == nil || !strings.Contains(err.Error(), path+" is damaged") || !strings.Contains(err.Error(), "move it away") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A newer handrail's tables are not touched.
func TestNewerTables(t *testing.T) {
	everywhere(t, func(t *testing.T, place string) {
		s := open(t, place)
		if _, err := s.db.Exec("INSERT INTO handrail_version VALUES (1000)"); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(t.Context(), Options{Place: place}); err == nil || !strings.Contains(err.Error(), "newer handrail") {
			t.Errorf("opened: %v", err)
			s.Close()
		}
	})
}

// An unreachable or wrong database is an error without the password.
func TestNoDatabase(t *testing.T) {
	for _, place := range []string{"postgres://ann:hunter2@127.0.0.1:1/x?connect_timeout=2", "postgres://ann:hunter2@%zz/", "relative.db", "mysql://x"} {
		s, err := Open(context.Background(), Options{Place: place})
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", place)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in %q", err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for place, ok := range map[string]bool{
		"postgres://handrail@db.example.org/handrail": true, "postgresql://db/x?sslmode=verify-full": true,
		"postgres://ann:hunter2@db/x": false, "postgres://ann:@db/x": false, "postgres://db/x?password=hunter2": false, "mysql://db/x": false, "/var/lib/store.db": false, "postgres://%zz": false, "": false,
	} {
		if err := CheckURL(place); (err == nil) != ok {
			t.Errorf("%s: %v", place, err)
		} else if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in %q", err)
		}
	}
}
