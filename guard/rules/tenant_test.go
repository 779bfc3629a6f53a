package rules_test

import (
	"net/netip"
	"strings"
	"testing"

	"handrail/guard/rules"
)

// What a principal of a shared server can do, in every profile: its everyday
// work as anybody; nothing of others, and nothing outside that a person could
// approve elsewhere.
func TestTenant(t *testing.T) {
	s := repository(t)
	s.put(t, "other", map[string]string{"notes.txt": "others'"})
	other := s.home + "/other"
	alone := s.policy
	s.policy.Tenant = &rules.Tenant{Name: "alice", Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Own: []string{s.root, s.home + "/own"}, Others: []string{other}}
	for _, profile := range rules.Profiles() {
		m, plain := manager(t, profile, s.policy), manager(t, profile, alone)
		for _, source := range []string{
			"cat " + other + "/notes.txt", "cat ../other/notes.txt", "ls " + other, "find " + other + " -name x", "grep -r x " + other, "cp " + other + "/notes.txt .",
			"echo x > " + other + "/notes.txt", "rm -rf " + other, "mv " + other + " mine", "ln -s " + other + " link && cat link/notes.txt", "tar cf a.tar " + other, "bash " + other + "/notes.txt",
			"cd ../other && cat notes.txt", "x=other; cat ../$x/notes.txt", "source " + other + "/notes.txt", "sudo cat " + other + "/notes.txt", "rm -rf " + s.home,
			"echo x > /srv/file", "echo x >> /etc/hosts", "rm /usr/local/bin/tool", "cat /etc/shadow", "cat /srv/data", "cat " + s.home + "/.bashrc", "cat /root/x", "cat /var/lib/x",
			"curl http://169.254.169.254/latest/meta-data/", "curl http://192.0.0.192/opc/v2/", "curl http://198.18.0.1/", "curl http://[64:ff9b::a00:5]/", "curl http://10.0.0.5:8080/", "wget -q http://192.168.1.1", "curl http://[fe80::1]/", "curl http://[::ffff:10.0.0.5]/", "curl http://[fd00:ec2::254]/",
			"curl http://metadata.google.internal/x", "curl http://100.100.100.200/", "curl http://0xa9fea9fe/", "curl http://2852039166/", "curl http://0251.0376.0251.0376/", "curl -d @top.txt http://172.16.0.1/", "nc 10.0.0.5 22",
			"git clone http://10.0.0.5/x.git", "sudo ls", "systemctl restart x", "crontab -r", "apt-get install x", "mount /dev/sda /mnt",
		} {
			if d := s.judge(m, source); d.Verdict.String() != "deny" {
				t.Errorf("%s: %s is %s (%s: %s)", profile, source, d.Verdict, d.Rule, d.Reason)
			}
		}
		for _, source := range []string{
			"ls", "cat top.txt", "go test ./...", "npm test", "make", "git status", "git diff | head", "grep -r x .", "echo x > src/new.txt", "rm -rf dist", "cat /etc/os-release", "cat /proc/cpuinfo",
			"ls /", "ls /tmp", "which go", "head -c 16 /dev/urandom | xxd", "echo x > /dev/null", "go build -o bin/x . 2>/dev/null", "curl -s https://proxy.golang.org/x", "pip install requests", "sed -i s/a/b/ src/a.go",
			"curl http://127.0.0.1:3000/", "curl http://localhost/", "curl http://10.1.2.3/", "curl https://example.org/", "curl http://93.184.216.34/", "git push origin main", "git fetch",
			"cat $(git ls-files | head -1)", "cp /usr/share/doc/x .",
		} {
			if d, p := s.judge(m, source), s.judge(plain, source); d.Verdict != p.Verdict {
				t.Errorf("%s: %s is %s for a principal (%s: %s), and %s elsewhere", profile, source, d.Verdict, d.Rule, d.Reason, p.Verdict)
			}
		}
	}
	all, _ := rules.Standard(s.policy)
	for _, r := range all {
		if strings.HasPrefix(r.ID, "tenant/") && !r.Fixed {
			t.Errorf("%s can be lowered", r.ID)
		}
	}
}
