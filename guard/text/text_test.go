package text_test

import (
	"strings"
	"testing"
	"unicode"

	"handrail/guard/text"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "rm -rf build/", "rm -rf build/"},
		{"words of other scripts stay", "echo 'привет, 世界, Ἑλλάς, für'", "echo 'привет, 世界, Ἑλλάς, für'"},
		{"carriage return", "rm -rf /\rls     ", `rm -rf /\u{d}ls     `},
		{"terminal escape", "ls\x1b[2K\x1b[1G", `ls\u{1b}[2K\u{1b}[1G`},
		{"C1 control", "a\u009bb", `a\u{9b}b`},
		{"bidirectional", "cat \u202egnp.txt\u202c", `cat \u{202e}gnp.txt\u{202c}`},
		{"isolates", "\u2066x\u2069", `\u{2066}x\u{2069}`},
		{"zero width", "r\u200bm", `r\u{200b}m`},
		{"byte order mark", "\ufeffrm", `\u{feff}rm`},
		{"tags", "ok\U000E0041\U000E0042", `ok\u{e0041}\u{e0042}`},
		{"variation selectors", "a\ufe0fb\U000E0100", `a\u{fe0f}b\u{e0100}`},
		{"line separators", "a\u2028b\u2029c\u0085d", `a\u{2028}b\u{2029}c\u{85}d`},
		{"fillers and blanks", "a\u3164b\u2800c\u00a0d", `a\u{3164}b\u{2800}c\u{a0}d`},
		{"not UTF-8", "a\xffb", `a\x{ff}b`},
		{"NUL", "a\x00b", `a\u{0}b`},
		{"private use", "\ue000", `\u{e000}`},
		{"Cyrillic in a Latin word", "c\u0430t", `c\u{430}t`},
		{"Greek in a Latin word", "g\u03bft", `g\u{3bf}t`},
		{"a word only of lookalikes", "\u0441\u0430\u0442 x", `\u{441}\u{430}\u{442} x`},
		{"full width", "\uff52\uff4d -rf", `\u{ff52}\u{ff4d} -rf`},
		{"mathematical", "\U0001D42B\U0001D426", `\u{1d42b}\u{1d426}`},
		{"a text that imitates an escape", `echo \u{202e} \x{ff} \n`, `echo \u{5c}u{202e} \u{5c}x{ff} \n`},
		{"eight blanks stay", "a        b", "a        b"},
		{"more blanks are counted", "a" + strings.Repeat(" ", 300) + "b", `a\u{20}×300b`},
		{"blanks and tabs", "a     \t\t\t\t\tb", `a\u{20}×5\u{9}×5b`},
		{"stacked marks", "a\u0301\u0302\u0303", "a\u0301\u0302" + `\u{303}`},
		{"one line with a newline at its end", "ls\n", "ls"},
		{"lines", "a\nb", "1│ a\n2│ b"},
		{"empty lines", "a\n\n\n\n\nb\n\nc", "1│ a\n ┆ (4 empty lines)\n6│ b\n7│ \n8│ c"},
	} {
		if got := text.Visible(c.in); got != c.want {
			t.Errorf("%s: Visible(%+q)\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
}

// badRune says what must never come out.
func badRune(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r != ' ' && unicode.Is(unicode.Zs, r) || r == unicode.ReplacementChar)
}

func FuzzVisibleShowsEverything(f *testing.F) {
	for _, s := range []string{"", "ls", "a\u202eb\r\n\n\n\n\nc", "\xff\xfe", `\u{202e}`, strings.Repeat(" ", 20), "c\u0430t a\u0301\u0301\u0301", "\U000E0041"} {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		va := text.Visible(a)
		if i := strings.IndexFunc(va, badRune); i >= 0 {
			t.Fatalf("Visible(%+q) still has %+q", a, va[i:])
		}
		if i := strings.IndexFunc(text.Visible(va), badRune); i >= 0 {
			t.Fatal("showing what is shown brings hidden characters back")
		}
		// Different texts look different, but for the newline at the end.
		one := func(s string) string { return strings.TrimSuffix(strings.ReplaceAll(s, "\n", ""), "\n") }
		if a, b = one(a), one(b); a != b && text.Visible(a) == text.Visible(b) {
			t.Fatalf("%+q and %+q look alike: %q", a, b, text.Visible(a))
		}
	})
}

func TestRedact(t *testing.T) {
	long := strings.Repeat("aB3x", 12)
	for _, c := range []struct{ in, want string }{
		{"AKIA" + "IOSFODNN7EXAMPLE x", "[redacted] x"},
		{"git clone https://x:ghp_" + long[:36] + "@github.com/a/b", "git clone https://x:[redacted]@github.com/a/b"},
		{"echo ghp_" + long[:36], "echo [redacted]"},
		{"github_pat_" + long, "[redacted]"},
		{"glpat-" + long[:20], "[redacted]"},
		{"xoxb-" + long[:20], "[redacted]"},
		{"npm_" + long[:36], "[redacted]"},
		{"pypi-" + long + long, "[redacted]"},
		{"sk-ant-" + long, "[redacted]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig_-x", "[redacted]"},
		{"postgres://app:hunter2@db/prod", "postgres://app:[redacted]@db/prod"},
		{"https://" + long + "@host/x", "https://[redacted]@host/x"},
		{"curl -H 'Authorization: Bearer abcdef123456' u", "curl -H 'Authorization: Bearer [redacted]' u"},
		{"curl -u user:hunter2 http://x", "curl -u user:[redacted] http://x"},
		{"curl -s \\\n-u user:hunter2 http://x", "curl -s \\\n-u user:[redacted] http://x"},
		{"curl -s --user='user:hunter2' http://x", "curl -s --user='user:[redacted]' http://x"},
		{"curl -H 'X-Api-Key: hunter2' u", "curl -H 'X-Api-Key: [redacted]' u"},
		{"curl -H 'Authorization: custom hunter2' u", "curl -H 'Authorization: custom [redacted]' u"},
		{"curl -H 'Authorization: hunter2x' u", "curl -H 'Authorization: [redacted]' u"},
		{"mysql -h db -phunter2 -u root", "mysql -h db -p[redacted] -u root"},
		{"sshpass -p hunter2 ssh x", "sshpass -p [redacted] ssh x"},
		{"openssl enc -aes256 -k hunter2 -in f", "openssl enc -aes256 -k [redacted] -in f"},
		{"ls; echo hunter2 | docker login --password-stdin", "ls; echo [redacted] | docker login --password-stdin"},
		{"Pa\u017f\u017fword=hunter2", "Pa\u017f\u017fword=[redacted]"},
		{"mysql --password=hunter2 -u root", "mysql --password=[redacted] -u root"},
		{"tool --api-key 'a b c' next", "tool --api-key [redacted] next"},
		{"export DB_PASSWORD=hunter2", "export DB_PASSWORD=[redacted]"},
		{"AWS_SECRET_ACCESS_KEY=abc/def+1", "AWS_SECRET_ACCESS_KEY=[redacted]"},
		{`{"client_secret": "x y z", "n": 1}`, `{"client_secret": [redacted], "n": 1}`},
		{"token: abcdef\nnext: 1", "token: [redacted]\nnext: 1"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\nrest", "[redacted]\nrest"},
		{"-----BEGIN RSA PRIVATE KEY-----\nabc (cut)", "[redacted]"},
		// What is no secret stays.
		{"go test ./... -run TestToken", "go test ./... -run TestToken"},
		{"git commit -m 'password reset'", "git commit -m 'password reset'"},
		{"curl https://example.org:8080/a@b", "curl https://example.org:8080/a@b"},
		{"git clone git@github.com:a/b.git", "git clone git@github.com:a/b.git"},
		{"curl -u user http://x:8080/", "curl -u user http://x:8080/"},
		{"curl -u $USER:$PASS http://x", "curl -u $USER:$PASS http://x"},
		{"mysql -p -u root", "mysql -p -u root"},
		{"mkdir -p a && sort -u b:c", "mkdir -p a && sort -u b:c"},
		{"echo password=$PASS", "echo password=$PASS"},
		{"a-----BEGIN CERTIFICATE-----b", "a-----BEGIN CERTIFICATE-----b"},
	} {
		if got := text.Redact(c.in); got != c.want {
			t.Errorf("Redact(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
		if once := text.Redact(c.in); text.Redact(once) != once {
			t.Errorf("Redact(%q) changes its own result: %q", c.in, text.Redact(once))
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	for name, s := range map[string]string{
		"nothing": strings.Repeat("ok  \thandrail/guard\t0.01s coverage of the spec table: 12%\n", 500),
		"short":   "/home/user/src/project/cmd/main.go",
		"umlauts": strings.Repeat("größer — als alles, was über die Wörter läuft ✓\n", 500),
		"cues":    strings.Repeat("ok  \thandrail/guard\t0.01s coverage of the token table: 12%\n", 500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				text.Redact(s)
			}
		})
	}
}

func BenchmarkVisible(b *testing.B) {
	s := strings.Repeat("go test ./... && echo 'ok' > out.txt; ", 20)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		text.Visible(s)
	}
}
