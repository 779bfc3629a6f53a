package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Tail calls each with the last n lines of the log at path, without their
// newline; a negative n means all. With follow it goes on with every line that
// is added, until ctx ends or each returns an error.
func Tail(ctx context.Context, path string, n int, follow bool, each func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var last [][]byte
	var half []byte
	for caught := false; ; {
		part, err := in.ReadBytes('\n')
		half = append(half, part...)
		switch {
		case err == nil && !caught && n >= 0:
			last = append(last, half[:len(half)-1])
			if len(last) > n {
				last = last[1:]
			}
			half = nil
			continue
		case err == nil:
			if err := each(half[:len(half)-1]); err != nil {
				return err
			}
			half = nil
			continue
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("audit: read %s: %w", path, err)
		}
		for _, line := range last {
			if err := each(line); err != nil {
				return err
			}
		}
		last, caught = nil, true
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tornOf returns what a line vouches for, or nil.
func tornOf(line []byte) *Torn {
	var r struct{ Torn *Torn }
	if json.Unmarshal(line, &r) != nil {
		return nil
	}
	return r.Torn
}
