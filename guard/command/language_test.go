package command

import (
	"fmt"
	"strings"
	"testing"

	"handrail/guard"
)

func brief(parts []Part) string {
	var out []string
	for _, p := range parts {
		if p.Role == unknown {
			out = append(out, "unknown")
			continue
		}
		out = append(out, string(p.Role)+":"+p.Word.Text)
	}
	return strings.Join(out, " ")
}

func TestSed(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"s/a/b/", ""}, {"s/a/b/g;s|/x|/y|2p", ""}, {"1,5p", ""}, {"$d", ""}, {"/re/,+3d", ""}, {"/a/!{p;q5}", ""},
		{"5q", ""}, {":a;N;$!ba;s/\\n/,/g", ""}, {"1i\\\nfoo;e x\n2d", ""}, {"1i hello w x", ""}, {"y/abc/xyz/", ""},
		{"/^#/d;/^$/d", ""}, {"s/.*/w out/", ""}, {"s,a,b\\,w c,", ""}, {"\\%x%d", ""}, {"0~3d", ""}, {"1~2!s/x/y/I", ""}, {"# e x\np", ""},
		{"n;d", ""}, {"s/[0-9]*/x/", ""}, {"s/[]a]/x/", ""}, {"", ""}, {"G", ""}, {"$!N;P;D", ""}, {"s/a/[/w x]/", "write:x]/"},
		{"s/a/b/w out", "write:out"}, {"s/a/b/gw out;x", "write:out;x"}, {"w /etc/x", "write:/etc/x"}, {"W f\nr g", "write:f read:g"},
		{"r/etc/passwd", "read:/etc/passwd"}, {"w /dev/stdout", ""}, {"1e rm -rf x", "shell:rm -rf x"}, {"e", "unknown"},
		{"s/a/b/e", "unknown"}, {"s/a/b/ge", "unknown"}, {"s/a/b/2eg", "unknown"}, {"/x/e", "unknown"}, {"p;e id", "shell:id"}, {"/a/{e id\n}", "shell:id"},
		{"s/[/]/x/", "unknown"}, {"s/a", "unknown"}, {"k", "unknown"}, {"pp", "unknown"}, {"/a", "unknown"}, {"1,2", "unknown"}, {"w", "unknown"},
		{"a\\", ""}, {"ba;e id", "shell:id"}, {"y/a/b/;e id", "shell:id"}, {"s/a/b/;;e id", "shell:id"},
	} {
		if got := brief(SedParts(guard.Word{Text: c.script, Exact: true})); got != c.want {
			t.Errorf("%q: got %q, want %q", c.script, got, c.want)
		}
	}
	if got := brief(SedParts(guard.Word{Text: "s/a/"})); got != "unknown" {
		t.Errorf("a script known in part: %q", got)
	}
}

func TestAwk(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{`{print $1}`, ""}, {`{print ($1 > 0 ? "a" : "b")}`, ""}, {`$1 > 5`, ""}, {`$3>10 {print $1, $2}`, ""}, {`{ if ($1 > max) max = $1 } END { print max }`, ""},
		{`NR==FNR{a[$1]++;next} !($1 in a)`, ""}, {`BEGIN{FS="|"} {print $1 "|" $2}`, ""}, {`/system\(/ {print}`, ""}, {`# system("x")`, ""},
		{`{print "system(\"id\")"}`, ""}, {`{a=b/2; c=d/3; print a "x"}`, ""}, {`$1 ~ /a|b/ || $2 > 3 {n++} END{print n/2}`, ""},
		{`{print > "out.txt"}`, "write:out.txt"}, {`{print $1 > "/etc/x"}`, "write:/etc/x"}, {`{print $1, $2 >> "log"; x = 1}`, "write/append:log"},
		{`{print(1,2)>"f"}`, "write:f"}, {`{printf "%s\n", $1 > "/dev/stderr"}`, ""}, {`{print $1 > $2}`, "unknown"}, {`{print > $1".txt"}`, "unknown"},
		{`{print > "a" "b"}`, "unknown"}, {`{print "x" > ("a")}`, "unknown"}, {`{ while ((getline line < "f") > 0) print line }`, "read:f"},
		{`{getline < "f"}`, "read:f"}, {`{getline x[1] < "f"}`, "read:f"}, {`{getline $2 < "f"}`, "read:f"}, {`{getline l < ARGV[1]}`, "unknown"}, {`{getline; print}`, ""},
		{`{system("rm -rf x")}`, "shell:rm -rf x"}, {`{system("rm " $1)}`, "unknown"}, {`BEGIN{system ("\151d")}`, "shell:id"}, {`{awk::system("id")}`, "shell:id"},
		{`BEGIN{"date" | getline d; print d}`, "shell:date"}, {`BEGIN{"da" "te" | getline d}`, "unknown"}, {`BEGIN{cmd | getline}`, "unknown"},
		{`{print | "sort -n"}`, "shell:sort -n"}, {`{print $1 | "sh"; close("sh")}`, "shell:sh"}, {`{print | c}`, "unknown"}, {`{print |& "/inet/tcp/0/h/80"}`, "unknown"},
		{`@load "filefuncs"`, "unknown"}, {`{f="system"; @f("id")}`, "unknown"}, {`{print "a`, "unknown"}, {`{if (1) /"/; system("rm x"); /"/}`, "shell:rm x"},
		{`{print a / b; system("id") / c}`, "shell:id"}, {`{x++ / 2; system("id"); y / 2}`, "shell:id"}, {`$0 ~ /[/]/; system("id") /]/`, "unknown"},
		{"{print $1\n> \"x\"}", ""}, {`{for(i=1;i<=NF;i++) if ($i > m) print $i > "o"}`, "write:o"}, {`length > 72`, ""}, {`{ print length($0) > 3 }`, "unknown"},
		{`{ "ls" |& getline x }`, "shell:ls"}, {`function f(x) { return x > 2 } { print f($1) }`, ""}, {`/a/,/b/`, ""}, {`!/x/ && /y/`, ""}, {`{print $NF/1024 "K"}`, ""},
	} {
		if got := brief(AwkParts(guard.Word{Text: c.program, Exact: true})); got != c.want {
			t.Errorf("%s: got %q, want %q", c.program, got, c.want)
		}
	}
	if got := brief(AwkParts(guard.Word{Text: strings.Repeat("getline[", 200000), Exact: true})); got != "" {
		t.Errorf("a long program: %.80q", got)
	}
	if got := brief(AwkParts(guard.Word{Text: "{print"})); got != "unknown" {
		t.Errorf("a program known in part: %q", got)
	}
}

// nested opens n dollar quotes within each other.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "$a%d$ ", i)
	}
	return b.String()
}

func TestSQL(t *testing.T) {
	for _, c := range []struct {
		text string
		want Role
	}{
		{"SELECT 1", sqlRead}, {"select * from t where a = 'drop table x; delete'", sqlRead}, {"", sqlRead}, {"-- drop table x\nselect 1", sqlRead},
		{"SHOW TABLES; EXPLAIN SELECT 1", sqlRead}, {`\dt`, sqlRead}, {`\d+ users`, sqlRead}, {".tables", sqlRead}, {".schema users", sqlRead}, {"PRAGMA table_info(x)", sqlRead},
		{"select replace(a, 'x', 'y') from t", sqlRead}, {"select count(*) from t for update", sqlRead}, {"WITH a AS (SELECT 1) SELECT * FROM a", sqlRead}, {"(select 1)", sqlRead},
		{`select "delete" from t`, sqlRead}, {"COPY t TO STDOUT", sqlRead}, {`\x \dt`, sqlRead}, {"select deleted, updated from t", sqlRead},
		{"INSERT INTO t VALUES (1)", sqlChange}, {"update t set a=1", sqlChange}, {"PRAGMA journal_mode=WAL", sqlChange}, {"create table t(a)", sqlChange},
		{"SELECT * INTO t2 FROM t", sqlChange}, {"WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT 1", sqlChange}, {"EXPLAIN ANALYZE UPDATE t SET a=1", sqlChange},
		{"alter table t add column c int", sqlChange}, {"VACUUM", sqlChange}, {"select pg_terminate_backend(1)", sqlChange}, {"FLUSH PRIVILEGES", sqlChange},
		{"DROP TABLE t", sqlDelete}, {"select 1; dRoP database x", sqlDelete}, {"/* c */ delete from t", sqlDelete}, {"/*!50000 DROP TABLE t */", sqlDelete},
		{"TRUNCATE t", sqlDelete}, {"ALTER TABLE t DROP COLUMN c", sqlDelete}, {"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", sqlDelete},
		{"EXPLAIN ANALYZE DELETE FROM t", sqlDelete}, {"DO $$ BEGIN DROP TABLE t; END $$", sqlDelete}, {`select '\'; drop table t; --'`, sqlDelete}, {"select 1 --1; drop table t", sqlDelete},
		{`\! rm -rf x`, unknown}, {`select 1 \g |sh`, unknown}, {".shell id", unknown}, {".system id", unknown}, {"select 1;\n.output /etc/x", unknown}, {`\copy t to program 'x'`, unknown},
		{"COPY t FROM PROGRAM 'id'", unknown}, {"COPY t TO '/tmp/x'", unknown}, {"select 1 into outfile '/tmp/x'", unknown}, {"select load_extension('x')", unknown},
		{"EXEC xp_cmdshell 'dir'", unknown}, {"source x.sql", unknown}, {"system id", unknown}, {`\i x.sql`, unknown}, {`select 'x' \gexec`, unknown}, {`\x \! id`, unknown}, {`\set a ` + "`id`", unknown},
		{strings.Repeat(`\x `, 300000), unknown}, {nested(50000), unknown},
		{"ATTACH 'x.db' AS x", unknown}, {"select pg_read_file('/etc/passwd')", unknown},
	} {
		if got := SQLRole(c.text); got != c.want {
			t.Errorf("%.200q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"http://example.com/x": "example.com", "https://user:pw@Example.COM.:8080?q": "example.com", "example.com": "example.com", "example.com/a:b@c": "example.com",
		"localhost:3000": "localhost", "http://[::1]:80/": "::1", "http://[::ffff:127.0.0.1]/": "127.0.0.1", "127.1": "127.0.0.1", "http://2130706433/": "127.0.0.1",
		"http://0x7f.0.0.1/": "127.0.0.1", "017700000001": "127.0.0.1", "0x7f000001:80": "127.0.0.1", "10.0.0.1": "10.0.0.1", "http://my_host-1/": "my_host-1", "http://h#@evil.com": "h",
		"ftp://h/": "h", "git+ssh://git@github.com/a/b": "github.com", "http://127.0.0.1.nip.io/": "127.0.0.1.nip.io", "http://h:/": "h",
		// not read
		"": "-", "http://": "-", "http://a b/": "-", "http://a\\@b/": "-", "http://a@b@c/": "-", "http://{a,b}.com": "-", "http://a[1-3].com": "-", "http://1.2.3.4.5/": "-", "http://256.1.1.1": "-",
		"http://exämple.com": "-", "h:99999": "-", "h:x": "-", "user@host:path": "-", "file:///etc/passwd": "-", "-oProxyCommand=x": "-", "http://a%2eb/": "-", "http://[fe80::1%25eth0]/": "-", "a..b": "-", "08.1.1.1": "-",
		"http://h\n/": "-", "http:///x": "-", "http://[::1": "-", "http://[::1]x": "-", "1.2.3.4x": "-",
	} {
		got, ok := Host(in)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{ // the port counts where it is none of a browser's own
		"https://a.example:8443/x": "a.example:8443", "ssh://git@A.example:2222/x": "a.example:2222", "a.example:08443": "a.example:8443", "http://[::1]:3000/": "[::1]:3000",
		"https://a.example:443/": "a.example", "http://a.example:80": "a.example", "a.example": "a.example", "http://a.example:/": "a.example", "a.example:0": "", "user@a.example:path": "",
	} {
		if got, _ := Authority(in); got != want {
			t.Errorf("authority of %q: got %s, want %s", in, got, want)
		}
	}
	for host, want := range map[string]bool{
		"localhost": true, "a.localhost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "0.0.0.0": true,
		"example.com": false, "10.0.0.1": false, "localhost.evil.com": false, "": false,
	} {
		if Loopback(host) != want {
			t.Errorf("loopback %q: %v", host, !want)
		}
	}
}
