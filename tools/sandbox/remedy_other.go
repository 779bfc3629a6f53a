//go:build !linux

package sandbox

// remedy is not known on this system.
func remedy(Tier) string { return "" }
