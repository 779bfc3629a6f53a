//go:build !linux

package sandbox

import "io/fs"

func kindOf(fi fs.FileInfo) fs.FileMode {
	if fi.Mode().IsRegular() {
		return isFile
	}
	return fi.Mode().Type()
}
