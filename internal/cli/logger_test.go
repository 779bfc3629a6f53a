package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// The log has no secrets and says durations in words, in both forms.
func TestLogger(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		var out bytes.Buffer
		log := logger(&out, form, slog.LevelInfo, func(s string) string { return strings.ReplaceAll(s, "sesame", "[redacted]") })
		log.Info("closing", "within", 90*time.Second, "err", errors.New("open sesame"), "why", "sesame")
		if said := out.String(); !strings.Contains(said, "1m30s") || strings.Contains(said, "sesame") || strings.Count(said, "[redacted]") != 2 {
			t.Errorf("%s: %s", form, said)
		}
	}
}
