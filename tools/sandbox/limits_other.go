//go:build !linux

package sandbox

// DefaultLimits are what a call may use where its policy does not say: what the
// system lets it.
func DefaultLimits() Limits { return Limits{} }
