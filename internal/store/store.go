// Package store keeps what outlives a process and what several share: grants,
// calls that wait for a person, and the history of decisions. It is a SQLite
// file in the state directory, or a PostgreSQL database for a team. The audit
// log stays the record of truth: what is lost here costs a question.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"modernc.org/sqlite"
)

// patience is how long one operation may take before it counts as failed.
const patience = 10 * time.Second

// Options say which store to open.
type Options struct {
	// Place is the absolute path of a SQLite file, or the URL of a PostgreSQL
	// database: postgres://user@host/name.
	Place string
	// Redact takes secrets out of what history keeps (JSON), and says whether
	// nothing was taken out. Without it no history is kept.
	Redact func(json.RawMessage) (clean json.RawMessage, whole bool)
	// AlwaysFor is how long an always grant holds at most, WaitFor how long a
	// call waits for a person. Zero means 30 days and one hour.
	AlwaysFor, WaitFor time.Duration
}

// Store is an open store. It is safe for concurrent use, and several processes
// may use one. Open makes one.
type Store struct {
	db     *sql.DB
	pg     bool
	place  string      // for messages: no password
	file   os.FileInfo // of SQLite, as it was opened
	redact func(json.RawMessage) (json.RawMessage, bool)
	now    func() time.Time
	always time.Duration
	wait   time.Duration

	bearer *sql.Stmt
	known  sync.Map // of [sha256.Size]byte: the bearer tokens that held lately, as *known

	errands chan errand
	many    chan struct{} // there are so many that they should not wait
	ended   chan struct{}
	close   sync.Once
	closed  chan struct{}
}

// IsURL reports whether place is the URL of a database and not a file.
func IsURL(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// CheckURL says what is wrong with the URL of a database. A password in it is: a
// configuration is read by many.
func CheckURL(place string) error {
	if !IsURL(place) {
		return errors.New("want a URL, as in postgres://user@host/name")
	}
	u, err := url.Parse(place)
	if err != nil {
		return errors.New("the URL cannot be read: want postgres://user@host/name")
	}
	if _, ok := u.User.Password(); ok || u.Query().Has("password") {
		return errors.New("no password in the URL: put it into ~/.pgpass, which PostgreSQL's clients read")
	}
	return nil
}

// Open opens or creates a store and brings its tables up to date; that many
// processes do so at once does no harm. A damaged file is an error that says
// what to do.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{place: o.Place, redact: o.Redact, now: time.Now, always: cmp.Or(o.AlwaysFor, alwaysFor), wait: cmp.Or(o.WaitFor, waitFor),
		errands: make(chan errand, 4*batchMax), many: make(chan struct{}, 1), ended: make(chan struct{}), closed: make(chan struct{})}
	var err error
	if IsURL(o.Place) {
		err = s.openPostgres()
	} else {
		err = s.openSQLite()
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.patient(ctx, s.migrate)
	if err == nil {
		s.bearer, err = s.db.PrepareContext(ctx, (&tx{pg: s.pg}).bind(bearerQuery))
	}
	if err != nil {
		s.db.Close()
		return nil, s.fault(err)
	}
	go s.write()
	return s, nil
}

func (s *Store) openPostgres() (err error) {
	u, err := url.Parse(s.place)
	if err != nil {
		return errors.New("the URL of the database cannot be read: want postgres://user@host/name")
	}
	s.pg = true
	s.db, err = sql.Open("pgx", s.place)
	s.place = u.Redacted()
	if err != nil {
		return fmt.Errorf("%s: the URL cannot be used", s.place) // the driver's error may quote the password
	}
	s.db.SetMaxOpenConns(8)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	return nil
}

func (s *Store) openSQLite() error {
	if !filepath.IsAbs(s.place) {
		return fmt.Errorf("%q is no absolute path and no postgres:// URL", s.place)
	}
	var err error
	if s.file, err = own(s.place); err != nil {
		return err
	}
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(8000)", "journal_mode(WAL)", "synchronous(FULL)", "cell_size_check(1)", "trusted_schema(0)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: s.place}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(4)
	s.db = db
	return nil
}

// Close runs the errands that are left and closes the store.
func (s *Store) Close() error {
	s.close.Do(func() { close(s.ended) })
	<-s.closed
	return s.db.Close()
}

// Place is where the store is, for people: no password.
func (s *Store) Place() string { return s.place }

// AlwaysFor is how long an always grant holds at most.
func (s *Store) AlwaysFor() time.Duration { return s.always }

// do runs f in one transaction, again where processes got in each other's way.
func (s *Store) do(ctx context.Context, f func(*tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := s.there(); err != nil {
		return s.fault(err)
	}
	err := s.patient(ctx, func(ctx context.Context) error {
		t, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer t.Rollback()
		if err := f(&tx{t, ctx, s.pg}); err != nil {
			return err
		}
		return t.Commit()
	})
	return s.fault(err)
}

// patient repeats f while the file is locked: SQLite does not wait in every
// case in which it could.
func (s *Store) patient(ctx context.Context, f func(context.Context) error) error {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := f(ctx)
		if code := code(err); code != sqliteBusy && code != sqliteLocked {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// The primary result codes of SQLite that are told apart (sqlite.org/rescode.html).
const (
	sqliteBusy, sqliteLocked    = 5, 6
	sqliteCorrupt, sqliteNotADB = 11, 26
)

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// fault says where an error is, and of a damaged file what to do.
func (s *Store) fault(err error) error {
	switch code(err) {
	case sqliteCorrupt, sqliteNotADB:
		return fmt.Errorf("store: %s is damaged (%w): move it away and start again; the approvals, grants and history in it are lost, the audit log is not", s.place, err)
	}
	if err == nil || errors.Is(err, ErrGone) {
		return err
	}
	return fmt.Errorf("store: %s: %w", s.place, err)
}

// look is do where f reads in one statement: it takes no lock, so it waits for
// nobody who writes.
func (s *Store) look(ctx context.Context, f func(*tx) error) error {
	return s.prompt(ctx, func(ctx context.Context) error { return f(&tx{s.db, ctx, s.pg}) })
}

// prompt runs f, which reads in one statement. A file is read at once, so f's
// context has no end there: for one that has, the driver starts a goroutine.
func (s *Store) prompt(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := s.there(); err != nil {
		return s.fault(err)
	}
	return s.fault(s.patient(ctx, func(ctx context.Context) error {
		if !s.pg {
			ctx = context.WithoutCancel(ctx)
		}
		return f(ctx)
	}))
}

// tx is a transaction, or the database, in which ? stands for each argument.
type tx struct {
	asked
	ctx context.Context
	pg  bool
}

type asked interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (t *tx) exec(query string, args ...any) (changed int64, err error) {
	r, err := t.ExecContext(t.ctx, t.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (t *tx) row(query string, args ...any) *sql.Row {
	return t.QueryRowContext(t.ctx, t.bind(query), args...)
}

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	return t.QueryContext(t.ctx, t.bind(query), args...)
}

// bind numbers the places of the arguments for PostgreSQL.
func (t *tx) bind(query string) string {
	if !t.pg {
		return query
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// each scans every row.
func each(rows *sql.Rows, err error, scan func() error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// newID is a name that people can type: 50 bits, in lower case.
func newID() string { return strings.ToLower(rand.Text()[:10]) }

// millis is a time as the store keeps it: milliseconds since 1970, 0 for none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Writable says by an error why the store cannot be written.
func (s *Store) Writable(ctx context.Context) error {
	return s.do(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE handrail_version SET version = version")
		return err
	})
}
