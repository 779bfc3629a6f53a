//go:build !linux && !darwin

package sandbox

import "errors"

func openNone(Settings) (Sandbox, error) {
	return nil, errors.New("commands cannot be run on this system")
}
