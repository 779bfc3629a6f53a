package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"handrail/internal/config"
)

var versionCommand = subcommand{
	name:  "version",
	short: "print the version",
	run: func(s streams, args []string) (int, error) {
		if _, err := newFlags("version").operands(args, 0, 0); err != nil {
			return 0, err
		}
		fmt.Fprintf(s.stdout, "handrail %s%s %s %s/%s\n", config.Version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return 0, nil
	},
}

// revision is the commit that the program was built from, where that is known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}
