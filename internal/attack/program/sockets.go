//go:build linux

package main

import (
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// dial sends the mark to an address: arguments are a network and an address of
// package net.
func dial(mark string, a arguments) error {
	c, err := net.Dial(a.text(0), a.text(1))
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(mark))
	return err
}

// mptcp sends the mark to a port of this machine by multipath TCP.
func mptcp(mark string, a arguments) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: a.number(0), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(mark))
	return err
}

// first sends the mark to a port of this machine without a call of connect.
func first(mark string, a arguments) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte(mark), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: a.number(0), Addr: [4]byte{127, 0, 0, 1}})
}

// pair sends the mark to a Unix socket by one of a pair, which is made without
// one of its own.
func pair(mark string, a arguments) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte(mark), 0, &unix.SockaddrUnix{Name: a.text(0)})
}

// socket makes a socket of a family, of any type.
func socket(_ string, a arguments) error { return socketOf(a.number(0)) }

func socketOf(family int) (err error) {
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_RAW, unix.SOCK_RDM} {
		for _, protocol := range []int{0, 1} {
			if _, err = unix.Socket(family, kind, protocol); err == nil {
				return nil
			}
			if !lacking(err) {
				first := err
				defer func() {
					if err != nil {
						err = first
					}
				}()
			}
		}
	}
	return err
}

// families makes a socket of every family beside IP and those that have an
// attack of their own.
func families(string, arguments) error {
	got, refused := false, error(unix.EAFNOSUPPORT)
	for family := 1; family < 64; family++ {
		if slices.Contains([]int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG}, family) {
			continue
		}
		switch err := socketOf(family); {
		case err == nil:
			got = true
		case !lacking(err):
			refused = err
		}
	}
	if got {
		return nil
	}
	return refused
}
