package laws

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/tools"
)

// writers are ways to write a file, %s, in the shell.
var writers = []string{
	"echo x > %s", "echo x >> %s", "echo x >| %s", ": > %s", "> %s", "ls &> %s", "ls 2> %s", "ls 1<> %s",
	"printf x > %s", "cat <<E > %s\nx\nE", "{ echo x; } > %s", "(echo x) > %s", "if true; then echo x; fi > %s",
	"for i in 1 2; do echo $i; done > %s", "exec 3> %s; echo x >&3", "exec > %s; echo x", "exec {fd}> %s; echo x >&$fd",
	"f() { echo x; } > %s; f", "f() { echo x > \"$1\"; }; f %s", "set -- %s; echo x > \"$1\"", "p=%s; echo x > \"$p\"",
	"p=(%s); echo x > \"${p[0]}\"", "read -r p <<< %s; echo x > \"$p\"", "bash -c 'echo x > \"$1\"' _ %s", "eval 'echo x >' %s",
	"echo x | tee %s", "echo x | tee -a %s", "tee %s < a", "echo x > >(tee %s)", "echo x | cat > %s",
	"cp a %s", "cp -f a %s", "command cp a %s", "env cp a %s", "timeout 5 cp a %s", "nohup cp a %s", "find a -exec cp {} %s \\;",
	"echo a | xargs -I{} cp {} %s", "install a %s", "install -m 644 a %s", "ln -sf a %s", "dd if=a of=%s", "truncate -s 0 %s", "touch %s",
	"sed -i s/a/b/ %s", "sed -i.bak s/a/b/ %s", "sed -n 'w '%s a", "awk '{print > \"'%s'\"}' a", "sort -o %s a", "sort a --output=%s", "uniq a %s",
	"shuf a -o %s", "xxd -r a %s", "base64 -d a > %s", "find . -name a -fprint %s", "curl -s localhost:3000/a -o %s", "curl -s localhost:3000/a > %s",
	"git diff --output=%s", "git show HEAD:a > %s", "rsync a %s", "gcc -o %s a.c", "go build -o %s .", "split --help > %s", "jq . a > %s", "gzip -c a > %s",
	"chmod 600 %s",
}

// readers are ways to read a file, %s, in the shell.
var readers = []string{
	"cat %s", "cat < %s", "head -1 %s", "tail %s", "less %s", "more %s", "nl %s", "tac %s", "rev %s", "od -c %s", "xxd %s", "hexdump -C %s", "strings %s",
	"base64 %s", "md5sum %s", "wc %s", "sort %s", "uniq %s", "cut -c1- %s", "paste %s", "fold %s", "column %s", "comm %s a", "diff %s a", "cmp -b %s a", "grep . %s",
	"grep -r . %s", "sed p %s", "sed -n 'r '%s a", "awk 1 %s", "awk '{while ((getline l < \"'%s'\") > 0) print l}' a", "jq -R . %s", "dd if=%s", "cp %s b", "ln %s b", "mv %s b", "tar cf b.tar %s", "zip b.zip %s",
	"gzip -c %s", "split %s", "rsync %s b", "install %s b", "git diff --no-index a %s", "git hash-object %s", "openssl base64 -in %s", "echo \"$(<%s)\"",
	"echo \"$(cat %s)\"", "mapfile -t l < %s; echo \"${l[@]}\"", "read -r l < %s; echo \"$l\"", "while read -r l; do echo \"$l\"; done < %s",
	"bash -c 'cat \"$1\"' _ %s", "xargs cat <<< %s", "echo %s | xargs cat", "find %s -exec cat {} \\;", "p=%s; cat \"$p\"", "cat <(cat %s)", "exec 3< %s; cat <&3",
	"pr %s", "vim -es -c p %s", "tee b < %s", "look x %s", "file -f %s", "wc --files0-from=%s", "date -f %s", "iconv %s", "tr a b < %s",
}

// A tool that does the same gets the same verdict: every way to write a file is
// judged like safe_write, every way to read one never looser than safe_read.
func TestSameEffectSameVerdict(t *testing.T) {
	b := newBench(t)
	box := &tools.Toolbox{Guard: b.judge.Guard, Reader: b.judge.Reader}
	file := func(tool string, args map[string]string) guard.Verdict {
		input, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		ec, err := box.Context(tools.Call{Tool: tool, Input: input, Roots: []string{b.root}})
		if err != nil {
			t.Fatalf("%s %s: %v", tool, input, err)
		}
		return b.judge.Guard.Judge(ec).Verdict
	}
	write := newOffences("every way to write is judged like safe_write")
	for path, want := range map[string]guard.Verdict{
		"out.txt":                                guard.VerdictAllow,
		"sub/../out.txt":                         guard.VerdictAllow,
		".env":                                   guard.VerdictAsk,
		"sub/.env.local":                         guard.VerdictAsk,
		"server.key":                             guard.VerdictAsk,
		".git/config":                            guard.VerdictAsk,
		".git/hooks/pre-commit":                  guard.VerdictAsk,
		".mcp.json":                              guard.VerdictAsk,
		"../outside.txt":                         guard.VerdictAsk,
		"/etc/hosts":                             guard.VerdictAsk,
		"/home/dev/.bashrc":                      guard.VerdictAsk,
		"/home/dev/.ssh/config":                  guard.VerdictAsk,
		"/home/dev/.handrail/guards":             guard.VerdictDeny,
		"/home/dev/.config/handrail/config.yaml": guard.VerdictDeny,
		"/home/dev/.local/state/handrail/audit.jsonl": guard.VerdictDeny,
	} {
		if got := file(tools.Write, map[string]string{"path": path, "content": "x"}); got > want || want == guard.VerdictAllow && got != want {
			t.Errorf("safe_write %s: %s, want %s", path, got, want)
			continue
		} else {
			want = got
		}
		for _, w := range writers {
			command := strings.ReplaceAll(w, "%s", path)
			write.tried++
			got := b.read(command)
			switch {
			case got.verdict > want:
				write.add("looser: "+want.String()+" becomes "+got.verdict.String(), "%q", command)
			case got.verdict < want:
				write.add("stricter: "+want.String()+" becomes "+got.verdict.String()+" by "+got.rule, "%q", command)
			}
		}
	}
	write.report(t, 500)

	read := newOffences("every way to read is judged like safe_read")
	for path, most := range map[string]guard.Verdict{
		"README.md":                           guard.VerdictAllow,
		"/home/dev/.ssh/id_rsa":               guard.VerdictAsk,
		"/home/dev/.aws/credentials":          guard.VerdictAsk,
		"/etc/shadow":                         guard.VerdictAsk,
		"/home/dev/notes.txt":                 guard.VerdictAsk,
		filepath.Join(b.root, "../other/a.c"): guard.VerdictAllow,
	} {
		want := file(tools.Read, map[string]string{"path": path})
		if want > most || path == "README.md" && want != guard.VerdictAllow {
			t.Errorf("safe_read %s: %s, want %s", path, want, most)
			continue
		}
		for _, r := range readers {
			command := strings.ReplaceAll(r, "%s", path)
			read.tried++
			if got := b.read(command); got.verdict > want {
				read.add("looser: "+want.String()+" becomes "+got.verdict.String(), "%q", command)
			}
		}
	}
	read.report(t, 200)
}
