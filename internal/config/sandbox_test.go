package config

import (
	"slices"
	"testing"
)

// Caches are where the environment of commands says, too; settings, among which
// credentials lie, are not.
func TestCachesOfTheEnvironment(t *testing.T) {
	c := &Config{Home: "/home/x"}
	s := c.settings(map[string]string{"XDG_CACHE_HOME": "/data/cache", "XDG_DATA_HOME": "/home/x/data", "XDG_CONFIG_HOME": "/home/x/etc"})
	for _, want := range []string{"/data/cache/go-build", "/home/x/.cache/go-build", "/home/x/data/pnpm/store", "/home/x/.npm"} {
		if !slices.Contains(s.Caches, want) {
			t.Errorf("no cache %s in %q", want, s.Caches)
		}
	}
	usual := c.settings(nil)
	if !slices.Equal(s.Toolchains, usual.Toolchains) {
		t.Errorf("toolchains %q", s.Toolchains)
	}
	if same := c.settings(map[string]string{"XDG_CACHE_HOME": "/home/x/.cache", "XDG_DATA_HOME": "data"}); !slices.Equal(same.Caches, usual.Caches) {
		t.Errorf("caches %q", same.Caches)
	}
}
