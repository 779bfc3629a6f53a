package sandbox

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/internal/testkit"
)

// TestBwrapBuilds: what builds and tests outside does so inside, with the same
// code and output.
func TestBwrapBuilds(t *testing.T) {
	p := settle(t, Bwrap)
	pol := p.base()
	env := []string{"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local"}
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil { // the real one, warm
		cache := strings.TrimSpace(string(out))
		pol.Caches, env = []string{cache}, append(env, "GOCACHE="+cache)
	}
	plant(t, p.root+"/go/go.mod", "module m\n\ngo 1.24\n")
	plant(t, p.root+"/go/m.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hi\") }\n")
	plant(t, p.root+"/go/m_test.go", "package main\n\nimport (\n\t\"net\"\n\t\"testing\"\n)\n\nfunc TestM(t *testing.T) {\n\tif l, err := net.Listen(\"tcp\", \"127.0.0.1:0\"); err != nil {\n\t\tt.Fatal(err)\n\t} else if _, err := net.Dial(\"tcp\", l.Addr().String()); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
	plant(t, p.root+"/c/m.c", "#include <stdio.h>\nint main(void) { puts(\"hi\"); return 3; }\n")
	plant(t, p.root+"/py/t.py", "import multiprocessing, tempfile, sqlite3, subprocess\nprint(multiprocessing.Pool(2).map(abs, [-1, 2]), subprocess.check_output(['echo', 'x']), tempfile.TemporaryFile().write(b'x'))\n")
	plant(t, p.root+"/js/t.js", "const cp = require('child_process'); console.log(cp.execSync('echo hi').toString()); cp.fork('./u.js').on('message', m => { console.log(m); process.exit(4) })\n")
	plant(t, p.root+"/js/u.js", "process.send('sent')\n")
	for _, s := range []struct{ needs, install, script string }{
		{"go", "https://go.dev/dl", `cd go && go build -o m . && ./m && go vet . && go test . >/dev/null && echo tested`},
		{"gcc", "apt-get install gcc", `cd c && gcc -o m m.c && ./m`},
		{"python3", "apt-get install python3", `cd py && python3 t.py && python3 -m venv --without-pip v && v/bin/python -c 'print(1)'`},
		{"node", "apt-get install nodejs", `cd js && node t.js`},
		{"bash", "apt-get install bash", `diff <(echo a) <(echo a) && echo x | tee f >/dev/null && mktemp -d >/dev/null && cat <<< y && [[ -w /dev/shm ]] && sort --version | head -1 && ulimit -n >/dev/null && (exit 5)`},
	} {
		t.Run(s.needs, func(t *testing.T) {
			path := testkit.Require(t, s.needs, s.install)
			script := `export ` + strings.Join(env, " ") + ` PATH=` + filepath.Dir(path) + `:$PATH; ` + s.script
			cmd := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", script)
			cmd.Dir, cmd.Env = p.root, p.command("", nil).Env
			out, _ := cmd.CombinedOutput()
			if err := exec.Command("bash", "-c", "rm -rf '"+p.root+"'/go/m '"+p.root+"'/c/m '"+p.root+"'/py/v").Run(); err != nil {
				t.Fatal(err)
			}
			if r := p.run(t, pol, script); r.Code != cmd.ProcessState.ExitCode() || r.out != string(out) {
				t.Errorf("outside %d %q\ninside %+v", cmd.ProcessState.ExitCode(), out, r)
			}
		})
	}
}
