package sandbox

import (
	"os"
	"strings"
)

// refusals are switches of the kernel by which user namespaces are refused, and
// what lifts each.
var refusals = []struct{ file, value, remedy string }{
	{"/proc/sys/user/max_user_namespaces", "0", "user namespaces are off: sysctl -w user.max_user_namespaces=15000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "user namespaces are for root alone: sysctl -w kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts user namespaces: apt-get install apparmor-profiles, " +
		"cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and systemctl reload apparmor; or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
}

// remedy says what is likely to help where t does not work here; "" where that
// is not known.
func remedy(t Tier) string {
	if t != Bwrap && t != Namespaces {
		return ""
	}
	for _, r := range refusals {
		if b, err := os.ReadFile(r.file); err == nil && strings.TrimSpace(string(b)) == r.value {
			return r.remedy
		}
	}
	return ""
}
