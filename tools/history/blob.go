//go:build linux || darwin

package history

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errDamaged says that a content in the store is not what its name says.
var errDamaged = errors.New("the content in the store is damaged or no longer there")

func (s *Store) blob(hash string) string {
	if len(hash) != 2*sha256.Size {
		return filepath.Join(s.dir, "blobs", "none")
	}
	return filepath.Join(s.dir, "blobs", hash[:2], hash[2:])
}

// has reports whether the store holds a content of that size. A content that a
// power failure cut has another size.
func (s *Store) has(hash string, size int64) bool {
	var st unix.Stat_t
	return unix.Lstat(s.blob(hash), &st) == nil && st.Size == size
}

// put keeps data and returns its hash and the bytes by which the store grew.
func (s *Store) put(data []byte) (hash string, grown int64, err error) {
	sum := sha256.Sum256(data)
	hash = hex.EncodeToString(sum[:])
	if s.has(hash, int64(len(data))) {
		return hash, 0, nil
	}
	temp, err := s.temp()
	if err != nil {
		return "", 0, err
	}
	_, err = temp.Write(data)
	return hash, int64(len(data)), s.settle(temp, hash, err)
}

// small is up to which size a file is read into memory, in bytes.
const small = 1 << 20

// keep keeps what in holds now, a regular file of size bytes. size comes back
// as it was when it was read; more than limit is an error.
func (s *Store) keep(in *os.File, size, limit int64) (hash string, read, grown int64, err error) {
	if size <= small {
		var b bytes.Buffer
		b.Grow(int(size) + bytes.MinRead)
		if _, err = b.ReadFrom(io.LimitReader(in, min(small, limit)+1)); err != nil {
			return "", 0, 0, err
		}
		if n := int64(b.Len()); n <= min(small, limit) {
			hash, grown, err = s.put(b.Bytes())
			return hash, n, grown, err
		}
		if _, err = in.Seek(0, io.SeekStart); err != nil {
			return "", 0, 0, err
		}
	}
	temp, err := s.temp()
	if err != nil {
		return "", 0, 0, err
	}
	// A clone costs no room; what is hashed is then what was cloned.
	if err = clone(temp, in); err != nil {
		_, err = io.Copy(temp, io.LimitReader(in, limit+1))
	}
	h := sha256.New()
	if err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err == nil {
		read, err = io.Copy(h, temp)
	}
	if err == nil && read > limit {
		err = errGrew
	}
	hash = hex.EncodeToString(h.Sum(nil))
	if err == nil && s.has(hash, read) {
		s.drop(temp)
		return hash, read, 0, nil
	}
	return hash, read, read, s.settle(temp, hash, err)
}

// errGrew says that a file grew past the limit while it was read.
var errGrew = errors.New("it grew while it was read")

// temp makes a temporary file in the store. Sweep removes what a killed
// process left.
func (s *Store) temp() (*os.File, error) {
	return os.OpenFile(filepath.Join(s.dir, "temp", rand.Text()[:20]), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func (s *Store) drop(temp *os.File) {
	temp.Close()
	os.Remove(temp.Name())
}

// settle gives temp its name in the store, or drops it where err is not nil.
func (s *Store) settle(temp *os.File, hash string, err error) error {
	if e := temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		path := s.blob(hash)
		if err = os.Rename(temp.Name(), path); os.IsNotExist(err) {
			if err = os.Mkdir(filepath.Dir(path), 0o700); err == nil || os.IsExist(err) {
				err = os.Rename(temp.Name(), path)
			}
		}
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

// content returns a content that is at most a listing or small.
func (s *Store) content(hash string) ([]byte, error) {
	b, err := os.ReadFile(s.blob(hash))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != hash {
		return nil, errDamaged
	}
	return b, nil
}

// listing returns the entries of a directory that was kept.
func (s *Store) listing(hash string) ([]Entry, error) {
	b, err := s.content(hash)
	if err != nil {
		return nil, err
	}
	return decode(b)
}

// copyTo writes a content into out and checks it on the way.
func (s *Store) copyTo(out *os.File, hash string) error {
	in, err := os.Open(s.blob(hash))
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), in); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != hash {
		return errDamaged
	}
	return nil
}
