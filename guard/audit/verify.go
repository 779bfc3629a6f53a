package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Report is what Verify found. The head is worth keeping elsewhere: with it,
// lines taken from the end of the log are missed too.
type Report struct {
	Records uint64  `json:"records"`
	Head    string  `json:"head"`             // hash of the last record
	Torn    []int   `json:"torn,omitempty"`   // lines left unfinished by a crash
	Faults  []Fault `json:"faults,omitempty"` // the first maxFaults
}

// Fault is one place where the log is not as it was written.
type Fault struct {
	File string `json:"file,omitempty"` // the name of one that was put away; empty for the log itself
	Line int    `json:"line"`           // counted from 1
	What string `json:"what"`
}

func (f Fault) Error() string {
	if f.File != "" {
		return fmt.Sprintf("%s, line %d: %s", f.File, f.Line, f.What)
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.What)
}

const maxFaults = 20

// Verify checks every line of the log at path and their order, over the files
// that were put away too. Where head is
// not empty, the log must also hold a record with that hash: the Report.Head of
// an earlier look. The error is a Fault, the first, where the log was changed;
// any other error means that it could not be read.
func Verify(path, head string) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	size, err := settled(f)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	before, err := older(path, f)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	v := verifier{want: head, met: head == ""}
	for _, name := range before {
		if err := v.old(name); err != nil {
			return v.Report, fmt.Errorf("audit: %w", err)
		}
	}
	v.file, v.n = "", 0
	if err := v.read(io.LimitReader(f, size)); err != nil {
		return v.Report, fmt.Errorf("audit: read %s: %w", path, err)
	}
	return v.result()
}

// older lists the files that were put away of the log at path before the open
// one.
func older(path string, open *os.File) ([]string, error) {
	here, err := open.Stat()
	if err != nil {
		return nil, err
	}
	list, err := rotated(path)
	if n := len(list); err == nil && n > 0 { // it was put away just now
		if there, err := os.Stat(list[n-1]); err == nil && os.SameFile(here, there) {
			list = list[:n-1]
		}
	}
	return list, err
}

// old checks a file that was put away: it ends with a whole record.
func (v *verifier) old(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	v.file, v.n = filepath.Base(name), 0
	if err := v.read(f); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if v.pending != nil {
		v.fault(v.first, errForm.Error())
		v.pending = nil
	}
	return nil
}

// verify is Verify on an open log of one file.
func verify(log io.Reader, head string) (Report, error) {
	v := verifier{want: head, met: head == ""}
	if err := v.read(log); err != nil {
		return v.Report, err
	}
	return v.result()
}

// read checks the lines of one file.
func (v *verifier) read(log io.Reader) error {
	in := bufio.NewReaderSize(log, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) > 0 {
			v.line(line)
		}
		if err != nil {
			return nil
		}
	}
}

// result settles the end of the log.
func (v *verifier) result() (Report, error) {
	v.end()
	if len(v.Faults) > 0 {
		return v.Report, v.Faults[0]
	}
	return v.Report, nil
}

// settled returns the size of f at a moment when nobody writes to it.
func settled(f *os.File) (int64, error) {
	if err := flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		return 0, err
	}
	defer flock(int(f.Fd()), unix.LOCK_UN)
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// verifier walks the lines.
type verifier struct {
	Report
	want    string // a hash that must be met
	met     bool
	file    string // that is read; empty for the log itself
	n       int    // its lines so far
	last    link
	pending []byte // lines that are no records, not yet vouched for
	first   int    // the number of the first of them
}

func (v *verifier) line(raw []byte) {
	v.n++
	line := bytes.TrimSuffix(raw, []byte("\n"))
	l, err := read(line)
	if errors.Is(err, errForm) {
		if v.pending == nil {
			v.first = v.n
		}
		if len(v.pending) <= maxTorn { // beyond, nothing vouches for it
			v.pending = append(v.pending, raw...)
		}
		return
	}
	v.vouched(line)
	switch {
	case err != nil:
		v.fault(v.n, err.Error())
	case l.seq == v.last.seq+1 && l.prev == v.last.hash:
	case l.seq > v.last.seq+1:
		v.fault(v.n, fmt.Sprintf("record %d follows record %d: lines were removed or moved", l.seq, v.last.seq))
	case l.seq <= v.last.seq:
		v.fault(v.n, fmt.Sprintf("record %d follows record %d: lines were moved or repeated", l.seq, v.last.seq))
	default:
		v.fault(v.n, fmt.Sprintf("record %d does not follow from the line before: one of them was changed", l.seq))
	}
	v.met = v.met || l.hash == v.want
	v.last, v.Head = l, l.hash
	v.Records++
}

// vouched settles the pending lines by the record after them.
func (v *verifier) vouched(line []byte) {
	if v.pending == nil {
		return
	}
	want := tear(v.pending)
	if t := tornOf(line); t != nil && *t == *want {
		v.Torn = append(v.Torn, v.first)
	} else {
		v.fault(v.first, errForm.Error()+", and no crash left it: it was changed or added")
	}
	v.pending = nil
}

// end settles what stands after the last record: an unfinished line is what a
// crash leaves, and what cutting the file leaves; whole lines are neither.
func (v *verifier) end() {
	if !v.met {
		defer v.fault(v.n+1, "the record with the hash "+v.want+" is missing: lines were taken from the end, or this is another log")
	}
	if v.pending == nil {
		return
	}
	if v.pending[len(v.pending)-1] == '\n' {
		v.fault(v.first, errForm.Error())
		return
	}
	v.Torn = append(v.Torn, v.first)
}

func (v *verifier) fault(line int, what string) {
	if len(v.Faults) < maxFaults {
		v.Faults = append(v.Faults, Fault{v.file, line, what})
	}
}
