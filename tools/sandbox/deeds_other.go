//go:build !linux && !darwin

package sandbox

// Deeds keeps nothing here, where nothing is compared.
type Deeds struct{}

// DeedsOf returns none.
func DeedsOf(string) Deeds { return Deeds{} }

// Write calls write.
func (Deeds) Write(_ string, _ []byte, write func() error) error { return write() }
