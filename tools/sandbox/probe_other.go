//go:build !linux && !darwin

package sandbox

// probe: there is nothing to probe on this system.
func probe(Sandbox, Settings) error { return nil }
