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
	defer func() { f.Close() }()
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
		if next, err := goesOn(f, path); err == nil && next != nil && len(half) == 0 {
			f.Close()
			f, in = next, bufio.NewReaderSize(next, 64<<10)
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// goesOn opens the file at path where it is another than f: the log was put away
// after its last line, and goes on there.
func goesOn(f *os.File, path string) (*os.File, error) {
	here, err := f.Stat()
	if err != nil {
		return nil, err
	}
	there, err := os.Stat(path)
	if err != nil || os.SameFile(here, there) {
		return nil, err
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at < here.Size() {
		return nil, err
	}
	return os.Open(path)
}

// tornOf returns what a line vouches for, or nil.
func tornOf(line []byte) *Torn {
	var r struct{ Torn *Torn }
	if json.Unmarshal(line, &r) != nil {
		return nil
	}
	return r.Torn
}
