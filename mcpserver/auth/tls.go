package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Files are the files of a TLS server, absolute paths. Certificate (with its
// chain) and Key are required. With ClientCA a client must show a certificate of
// one of the authorities in it; with Optional it may.
type Files struct {
	Certificate, Key, ClientCA string
	Optional                   bool
}

// look is how often the files are looked at for a change.
const look = time.Second

// Server returns the TLS configuration of a server. Files that change are taken
// up by the next connection, whole or not at all: what cannot be read leaves the
// old ones in force and is told to notice (may be nil) once.
func (f Files) Server(notice func(error)) (*tls.Config, error) {
	s := &served{Files: f, notice: notice}
	if err := s.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols(), GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.config(), nil }}, nil
}

// protocols are what a connection may speak. Both configurations say so: by the
// outer one http.Server learns that it is to serve HTTP/2, by the inner one the
// client does.
func protocols() []string { return []string{"h2", "http/1.1"} }

type served struct {
	Files
	notice func(error)

	mu     sync.Mutex
	held   *tls.Config
	stamps [3]stamp
	looked time.Time
}

// stamp tells a file from what it was.
type stamp struct {
	size     int64
	modified time.Time
	mode     os.FileMode
}

func (s *served) config() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.looked) > look {
		if now, err := s.look(); err != nil || now != s.stamps {
			if err == nil {
				err = s.load()
			}
			if err != nil && now != s.stamps && s.notice != nil {
				s.notice(fmt.Errorf("the TLS files changed and cannot be used, the old ones stay: %w", err))
			}
			s.stamps = now
		}
		s.looked = time.Now()
	}
	return s.held
}

func (s *served) paths() [3]string { return [3]string{s.Certificate, s.Key, s.ClientCA} }

func (s *served) look() (now [3]stamp, err error) {
	for i, path := range s.paths() {
		if path == "" {
			continue
		}
		info, e := os.Stat(path)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		now[i] = stamp{info.Size(), info.ModTime(), info.Mode()}
	}
	return now, err
}

// load reads the files. The key must be nobody else's to read.
func (s *served) load() error {
	stamps, err := s.look()
	if err != nil {
		return err
	}
	if stamps[1].mode.Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %o): chmod 600 it", s.Key, stamps[1].mode.Perm())
	}
	pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: protocols()}
	if s.ClientCA != "" {
		pem, err := os.ReadFile(s.ClientCA)
		if err != nil {
			return err
		}
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate", s.ClientCA)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
		if s.Optional {
			c.ClientAuth = tls.VerifyClientCertIfGiven
		}
	}
	s.held, s.stamps = c, stamps
	return nil
}
