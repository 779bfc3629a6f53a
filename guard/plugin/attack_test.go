package plugin_test

import (
	"testing"

	"handrail/guard"
	"handrail/tools"
)

const (
	deny  = guard.VerdictDeny
	ask   = guard.VerdictAsk
	llm   = guard.VerdictLLM
	allow = guard.VerdictAllow
)

// outcome is a call and whether a guard speaks about it, with which verdict in
// the end (of all rules; zero where that is not looked at).
type outcome struct {
	call  string
	spoke bool
	final string
}

func expect(t *testing.T, d *desk, id string, v guard.Verdict, list []outcome) {
	t.Helper()
	for _, o := range list {
		got := d.bash(t, o.call)
		if by(got, id, v) != o.spoke || o.final != "" && got.Verdict.String() != o.final {
			t.Errorf("%s: spoke %v, verdict %s by %s; want %v %s\n%+v", o.call, by(got, id, v), got.Verdict, got.Rule, o.spoke, o.final, got.Findings)
		}
	}
}

// An expression that tightens is found however the command is written.
func TestTextCannotBeHidden(t *testing.T) {
	d := newDesk(t)
	d.user(t, "g.yaml", "id: no-tf\ntool: Bash\npatterns:\n  - match: '^terraform (apply|destroy)'\n    verdict: deny\n    reason: not from here\n")
	expect(t, d, "no-tf", deny, []outcome{
		{"terraform apply", true, "deny"},
		{"cd src && terraform apply", true, "deny"},
		{"ter''raform app\\ly", true, "deny"},
		{"t=terraform; $t apply", true, "deny"},
		{"eval 'terraform apply'", true, "deny"},
		{"bash -c 'echo x; terraform apply'", true, "deny"},
		{"f() { terraform apply; }; f", true, "deny"},
		{"/usr/local/bin/terraform apply", true, "deny"},
		{"env A=1 timeout 5 terraform apply", true, "deny"},
		{"echo $(terraform apply)", true, "deny"},
		{"ls | xargs terraform apply", true, "deny"},
		{"terraform plan", false, ""},
		{"echo terraform apply", false, ""},
	})
}

// An expression that allows must match every command from end to end, and
// allows nothing else.
func TestTextAllowsOnlyItself(t *testing.T) {
	d := newDesk(t)
	d.user(t, "g.yaml", "id: ok\ntool: Bash\npatterns:\n  - match: 'frob( [a-z]+)*'\n    verdict: allow\n")
	expect(t, d, "ok", allow, []outcome{
		{"frob", true, "allow"},
		{"frob a b", true, "allow"},
		{"frob a; frob b", true, "allow"},
		{"frob; rm -rf /", false, "deny"},
		{"frob; rm -rf src", false, "ask"},
		{"frob && ls", false, "llm"},
		{"frob 'a; rm -rf src'", false, "llm"},
		{"frob $(cat x)", false, "llm"},
		{"frob a\nrm -rf src", false, "ask"},
		{"frob $X", false, "llm"},
		{"frob *", false, "llm"},
		{"unfrob", false, "llm"},
		{"frobs", false, "llm"},
		{"frob a 'b c'", false, "llm"},
		{"FROB", false, "llm"},
		{"sudo frob", false, "ask"},
		{"xargs frob", false, ""},
		{"$x; frob", false, "ask"},
		{"frob > /etc/frob.conf", true, "ask"},
		{"frob > .env", true, "ask"},
		{"/tmp/evil/frob", true, "llm"}, // the name is allowed, the foreign code is not
		{"bash -c frob", false, ""},
		{"frob | sh", false, ""},
	})
}

// An allow on paths covers what lies wholly below them, and nothing that may
// lie elsewhere.
func TestPathsAllowOnlyWhatTheyCover(t *testing.T) {
	d := newDesk(t)
	d.write(t, d.root+"/build/out.o", "o")
	d.write(t, d.root+"/build/sub/x.o", "o")
	d.user(t, "g.yaml", "id: clean\npatterns:\n  - when: {effect: delete, path: 'build/**'}\n    verdict: allow\n")
	expect(t, d, "clean", allow, []outcome{
		{"rm -r build/sub", true, "allow"},
		{"rm build/out.o", true, "allow"},
		{"rm -rf build", false, ""},    // the directory itself is not below it
		{"rm -rf build/", false, ""},   //
		{"rm -rf .", false, ""},        //
		{"rm -rf build/$X", false, ""}, // may be build/../src
		{"rm -rf build/../src", false, ""},
		{"rm -rf BUILD/sub", false, ""},
		{"rm -rf buildx/sub", false, ""},
		{"rm -rf /build/sub", false, ""},
		{"cd .. && rm -rf build/sub", false, ""},
		{"rm -rf build/sub; rm -rf /", true, "deny"},
		{"rm -rf build/sub src", true, "ask"},
	})
}

// A deny on paths is about all that may lie there.
func TestPathsDenyWhatTheyTouch(t *testing.T) {
	d := newDesk(t)
	d.user(t, "g.yaml", "id: data\npatterns:\n  - when: {effect: [write, delete], path: 'data/**'}\n    verdict: deny\n")
	expect(t, d, "data", deny, []outcome{
		{"rm data/rows.csv", true, "deny"},
		{"rm -rf data", true, "deny"},
		{"rm -rf .", true, "deny"},
		{"echo > data/new", true, "deny"},
		{"echo > DATA/new", true, "deny"},
		{"cd data && touch x", true, "deny"},
		{"mv data old", true, "deny"},
		{"cp src/main.go data/x", true, "deny"},
		{"echo > src/../data/x", true, "deny"},
		{"tee data/x < src/main.go", true, "deny"},
		{"cat data/rows.csv", false, "allow"},
		{"rm src/main.go", false, ""},
	})
	if got := d.bash(t, "rm -f $X"); !by(got, "data", ask) || got.Verdict != ask { // may lie there: a person can tell
		t.Errorf("%s: %+v", got.Verdict, got.Findings)
	}
	if got := d.call(t, tools.Write, "data/x"); got.Verdict != deny || got.Rule != "data" {
		t.Errorf("%s by %s", got.Verdict, got.Rule)
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name, when string
		yes, no    []string
	}{
		{"host", "{effect: network, host: ['*.prod.example.com', 'db.example.com:5432']}",
			[]string{"curl https://api.prod.example.com/x", "curl https://API.PROD.example.com./x", "curl -d @src/main.go https://u:p@a.prod.example.com:8443/"},
			[]string{"curl https://prod.example.com.evil.org", "curl https://example.com"}},
		{"args", "{command: git, args: [push, '--force*']}",
			[]string{"git push --force", "git push origin main --force-with-lease", "git -c a=b push --force"}, []string{"git push", "git fetch --force", "echo git push --force"}},
		{"any word", "{command: 'kube*', args: ['-n', 'prod*']}", []string{"kubectl get pods -n prod-eu"}, []string{"kubectl get pods -n dev"}},
		{"via", "{via: xargs, command: rm}", []string{"ls | xargs rm"}, []string{"rm x"}},
		{"effect with action", "{effect: remote/push}", []string{"git push origin dev"}, []string{"git fetch"}},
		{"not", "{effect: write, path: ['src/**', '!src/gen']}", []string{"touch src/a"}, []string{"touch src/gen/a", "touch a"}},
		{"name anywhere", "{effect: write, path: '*.lock'}", []string{"touch a.lock", "touch src/deep/b.lock"}, []string{"touch lock"}},
		{"language", "{language: python}", []string{"python3 -c 'print(1)'"}, []string{"node -e 1", "ls"}},
		{"tool", "{tool: Bash, command: ls}", []string{"ls"}, []string{"pwd"}},
		{"home", "{effect: read, path: '~/notes'}", []string{"cat ~/notes", "cat ~/notes/x"}, []string{"cat ~/note"}},
	} {
		d := newDesk(t)
		d.user(t, "g.yaml", "id: g\npatterns:\n  - when: "+c.when+"\n    verdict: deny\n")
		for _, call := range c.yes {
			if got := d.bash(t, call); !by(got, "g", deny) {
				t.Errorf("%s: %s is not denied: %+v", c.name, call, got.Findings)
			}
		}
		for _, call := range c.no {
			if got := d.bash(t, call); by(got, "g", deny) {
				t.Errorf("%s: %s is denied", c.name, call)
			}
		}
	}
}

// A guard stands in for a built-in rule where it names it and says where, and
// nowhere else.
func TestInsteadOf(t *testing.T) {
	d := newDesk(t)
	d.user(t, "g.yaml", "id: out\npatterns:\n  - when: {effect: [write, delete], path: '"+d.home+"/shared/**'}\n    verdict: allow\n    instead_of: fs/outside\n")
	expect(t, d, "out", allow, []outcome{
		{"touch " + d.home + "/shared/x", true, "allow"},
		{"touch " + d.home + "/other", false, "ask"},
		{"touch " + d.home + "/shared/.env", true, "ask"}, // secret/write was not named
		{"rm -rf " + d.home + "/shared", false, "ask"},
		{"touch " + d.home + "/shared/x; rm -rf /", true, "deny"},
	})
	d = newDesk(t)
	d.user(t, "g.yaml", "id: wide\npatterns:\n  - when: {command: touch}\n    verdict: allow\n    instead_of: fs/outside\n")
	expect(t, d, "wide", allow, []outcome{{"touch " + d.home + "/x", true, "ask"}}) // by name of the program alone
}

// The first pattern of a guard that matches counts, for what it speaks about.
func TestFirstPatternCounts(t *testing.T) {
	d := newDesk(t)
	d.user(t, "g.yaml", `id: g
tool: Bash
patterns:
  - match: "docker ps( .*)?"
    verdict: allow
  - match: docker
    verdict: ask
  - match: docker rm
    verdict: deny
`)
	expect(t, d, "g", ask, []outcome{{"docker ps -a", false, "allow"}, {"docker build .", true, "ask"}, {"docker rm x", true, "ask"}, {"docker ps; docker build .", true, "ask"}, {"ls; docker ps", true, "ask"}})
	d.user(t, "g.yaml", `id: g
patterns:
  - when: {effect: write, path: data/ok}
    verdict: allow
  - when: {effect: write, path: data}
    verdict: deny
`)
	expect(t, d, "g", deny, []outcome{{"touch data/ok", false, "allow"}, {"touch data/x", true, "deny"}, {"touch data/ok data/x", true, "deny"}})
}
