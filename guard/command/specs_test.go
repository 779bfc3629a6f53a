package command

import (
	"strings"
	"testing"
)

// TestSpecs binds the commands that people and agents use most, and the ones
// that do harm: testdata/specs.txt.
func TestSpecs(t *testing.T) {
	table, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, table, "testdata/specs.txt")
}

// banned are the programs that agentkit's policy never lets an agent run; every
// one needs an entry, or a rule could not say why it asks.
const banned = `alias aria2c axel chrome curl curlie firefox http-prompt httpie links lynx nc netcat ncat safari
scp sftp ssh telnet w3m wget xh doas su sudo pkexec gksudo kdesudo apk apt apt-cache apt-get dnf dpkg emerge
home-manager makepkg opkg pacman paru pkg pkg_add pkg_delete portage rpm yay yum zypper snap flatpak nix-env at
batch chkconfig crontab fdisk mkfs mount parted service systemctl umount shutdown reboot poweroff init telinit
firewall-cmd ifconfig ip iptables ip6tables nft netstat pfctl route ufw nmcli networkctl useradd userdel usermod
groupadd groupdel groupmod passwd chpasswd adduser deluser shred wipe dd losetup setcap getcap chroot unshare nsenter`

// safe are the programs that BitCode's default policy knows.
const safe = `echo pwd which env printenv ls cat head tail wc sort uniq diff git go npm cargo make cmake grep rg ag fd find
sudo rm mkfs dd chmod curl wget ssh scp docker pip cp mv mkdir rmdir tee chown touch python python3 uv node deno bun npx`

func TestSeedsAreListed(t *testing.T) {
	table, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(banned + " " + safe) {
		if table.Lookup(name) == nil {
			t.Errorf("%s has no entry", name)
		}
	}
	if n := len(table.Names()); n < 400 {
		t.Errorf("%d programs are listed, at least 400 are wanted", n)
	}
}
