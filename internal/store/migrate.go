package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// migrations bring the tables from one version to the next; the version is
// their number. They are never changed once released, only added to. {serial}
// is a key that counts by itself.
var migrations = []string{
	`CREATE TABLE handrail_grants (
		id TEXT PRIMARY KEY, scope TEXT NOT NULL, digest TEXT NOT NULL, session TEXT NOT NULL, principal TEXT NOT NULL,
		tool TEXT NOT NULL, dir TEXT NOT NULL, shown TEXT NOT NULL, pattern TEXT NOT NULL,
		created BIGINT NOT NULL, expires BIGINT NOT NULL, used BIGINT NOT NULL, last_used BIGINT NOT NULL,
		revoked BIGINT NOT NULL, given_by TEXT NOT NULL, channel TEXT NOT NULL);
	CREATE INDEX handrail_grants_digest ON handrail_grants (digest);
	CREATE TABLE handrail_pending (
		digest TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, question TEXT NOT NULL, pattern TEXT NOT NULL,
		client TEXT NOT NULL, transport TEXT NOT NULL, asked BIGINT NOT NULL, last BIGINT NOT NULL, times BIGINT NOT NULL,
		expires BIGINT NOT NULL, state TEXT NOT NULL, choice TEXT NOT NULL, answered BIGINT NOT NULL, answered_by TEXT NOT NULL);
	CREATE TABLE handrail_history (
		id {serial}, at BIGINT NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, dir TEXT NOT NULL, principal TEXT NOT NULL,
		digest TEXT NOT NULL, judged TEXT NOT NULL, verdict TEXT NOT NULL, rule TEXT NOT NULL, granted INTEGER NOT NULL,
		approval TEXT NOT NULL, choice TEXT NOT NULL, whole INTEGER NOT NULL, detail TEXT NOT NULL);
	CREATE INDEX handrail_history_at ON handrail_history (at);
	CREATE INDEX handrail_history_digest ON handrail_history (digest);`,
	`CREATE TABLE handrail_tokens (
		id TEXT PRIMARY KEY, name TEXT NOT NULL, principal TEXT NOT NULL, sum TEXT NOT NULL UNIQUE,
		created BIGINT NOT NULL, expires BIGINT NOT NULL, revoked BIGINT NOT NULL, last_used BIGINT NOT NULL);`,
	`ALTER TABLE handrail_pending ADD COLUMN principal TEXT NOT NULL DEFAULT '';
	CREATE INDEX handrail_history_principal ON handrail_history (principal, id);`,
}

// migrationLock is the advisory lock of PostgreSQL under which the tables are
// changed: any number, the same for all.
const migrationLock = 0x68616e64

// migrate brings the tables up to date, in one transaction that keeps all other
// processes out. Where they are, it only looks.
func (s *Store) migrate(ctx context.Context) error {
	if v, err := s.version(ctx); err == nil && v == len(migrations) {
		return nil
	} else if err == nil && v > len(migrations) {
		return newer(v)
	}
	t, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if s.pg {
		if _, err := t.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
	}
	if _, err := t.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS handrail_version (version INTEGER NOT NULL)"); err != nil {
		return err
	}
	var have sql.NullInt64
	if err := t.QueryRowContext(ctx, "SELECT max(version) FROM handrail_version").Scan(&have); err != nil {
		return err
	}
	if int(have.Int64) > len(migrations) {
		return newer(int(have.Int64))
	}
	serial := "INTEGER PRIMARY KEY AUTOINCREMENT"
	if s.pg {
		serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
	}
	for v := int(have.Int64); v < len(migrations); v++ {
		for _, statement := range strings.Split(strings.ReplaceAll(migrations[v], "{serial}", serial), ";") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := t.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("version %d: %w", v+1, err)
			}
		}
		if _, err := t.ExecContext(ctx, fmt.Sprintf("INSERT INTO handrail_version VALUES (%d)", v+1)); err != nil {
			return err
		}
	}
	return t.Commit()
}

// version reads the version of the tables.
func (s *Store) version(ctx context.Context) (int, error) {
	var v sql.NullInt64
	err := s.db.QueryRowContext(ctx, "SELECT max(version) FROM handrail_version").Scan(&v)
	if err == nil && !v.Valid {
		err = errors.New("no version")
	}
	return int(v.Int64), err
}

func newer(v int) error {
	return fmt.Errorf("its tables are of version %d, made by a newer handrail (this one knows %d): update this one", v, len(migrations))
}
