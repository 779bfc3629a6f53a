// Package audit is the append-only, hash-chained record of every decision and
// its outcome: JSON lines, safe with several server processes. What is not
// recorded does not run.
package audit

// Log is an open audit log.
type Log struct{}
