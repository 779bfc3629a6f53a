// Package owner tells files that only the user can have written from those that
// another one could: configuration, guards, skills, trust. What anybody else can
// change must not loosen anything.
package owner

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Check says why a file or directory is not the user's alone: it belongs to
// somebody else (root may), its group or everybody can write it, or others can
// put another one in its place. path is absolute, info that of what it leads to.
func Check(path string, info fs.FileInfo) error {
	if uid := Of(info); uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("%s belongs to user %d, not to you", path, uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is writable by others: look at it, then chmod go-w %s", path, path)
	}
	led, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := above(path); err != nil || led == path {
		return err
	}
	return above(led)
}

// above says which directory above path lets others rename what is in it.
func above(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if uid := Of(info); uid != os.Geteuid() && uid != 0 {
			return fmt.Errorf("user %d may put another file in the place of %s: %s is theirs", uid, path, dir)
		}
		if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			return fmt.Errorf("others may put another file in the place of %s: chmod go-w %s", path, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// Foreign is what is wrong with a file of Handrail's own that belongs to another
// user: whose it is, and how that user's are worked with.
func Foreign(path string, uid int) error {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return fmt.Errorf("%s belongs to user %d, not to you", path, uid)
	}
	return fmt.Errorf("%s belongs to %s, not to you; run this as %s: `sudo -u %s HOME=%s handrail ...`", path, u.Username, u.Username, u.Username, u.HomeDir)
}

// User is the Unix user as whom the process goes on, which a process that root
// started may have changed; of one without an entry, what the environment says.
func User() (*user.User, error) {
	u, err := user.Current() // as it was when that was asked first
	uid := strconv.Itoa(os.Getuid())
	if err == nil && u.Uid == uid {
		return u, nil
	}
	if u, err = user.LookupId(uid); err == nil {
		return u, nil
	}
	if name, home := os.Getenv("USER"), os.Getenv("HOME"); name != "" && home != "" {
		return &user.User{Uid: uid, Gid: strconv.Itoa(os.Getgid()), Username: name, HomeDir: home}, nil
	}
	return nil, err
}

// Of is the user to whom a file belongs, or -1.
func Of(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
