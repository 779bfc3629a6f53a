//go:build !linux && !darwin

package sandbox

func watching(sb Sandbox, _ Settings) Sandbox { return sb }
