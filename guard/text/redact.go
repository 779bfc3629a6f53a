package text

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Removed stands where a secret stood.
const Removed = "[redacted]"

// shape is one form of secret. The first group of the expression, where there
// is one, is kept: it says what was taken out; the second stood after it.
type shape struct {
	// cues are what a text must contain, in lower case, one of them, before the
	// expression is worth running: it is the slow part.
	cues []string
	re   func() *regexp.Regexp
	// at is re for the start of a text, where all that it matches begins with a cue:
	// it is tried where one stands, and where that is a word's start if word is set.
	at   func() *regexp.Regexp
	word bool
}

func looks(expr string, cues ...string) shape { return shape{cues: cues, re: Pattern(expr)} }

// led is looks for what begins with a cue. A try that fails must do so before the
// next cue, or texts of many cues would be gone over as many times.
func led(expr string, cues ...string) shape {
	cue, word := strings.CutPrefix(expr, `\b`)
	return shape{cues, Pattern(expr), Pattern(`\A(?:` + cue + `)`), word}
}

// tokens are the shapes of secrets that are known wherever they stand, whole
// blocks first. Like places they are made at their first use, for the reason that
// Pattern has.
func tokens() []shape {
	return []shape{
		led(own, prefix),
		// Private keys: RFC 7468, OpenSSH, PGP. A block that is cut off counts to its end.
		looks(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`, "private key"),
		led(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "akia", "asia", "abia", "acca"),
		led(`\bgh[pousr]_[A-Za-z0-9]{30,255}\b`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		led(`\bgithub_pat_[A-Za-z0-9_]{22,255}\b`, "github_pat_"),
		led(`\bgl(?:pat|dt|rt|ptt|soat|cbt)-[A-Za-z0-9_\-.]{20,}`, "glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-"),
		led(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"), // Slack
		led(`\bxapp-[0-9]-[A-Za-z0-9-]{10,}`, "xapp-"),
		looks(`(https://hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}`, "hooks.slack.com"),
		led(`\bnpm_[A-Za-z0-9]{36}\b`, "npm_"),
		led(`\bpypi-[A-Za-z0-9_-]{50,}`, "pypi-"),
		looks(`\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`, "_live_", "_test_"),      // Stripe
		led(`\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}`, "sk-"),                // model providers
		led(`\bAIza[0-9A-Za-z_-]{35}`, "aiza"),                                       // Google API keys
		led(`\bya29\.[0-9A-Za-z_-]{20,}`, "ya29."),                                   // Google OAuth
		led(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, "sg."),                   // SendGrid
		led(`\bhf_[A-Za-z0-9]{30,}\b`, "hf_"),                                        // Hugging Face
		led(`\bdop_v1_[a-f0-9]{64}\b`, "dop_v1_"),                                    // DigitalOcean
		led(`\bAGE-SECRET-KEY-1[0-9A-Z]{50,}`, "age-secret-key-"),                    // age
		looks(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, "eyj"), // JSON Web Tokens
	}
}

// prefix is how the bearer tokens of Handrail itself begin, own is their shape.
const (
	prefix = "hrt_"
	own    = `\b` + prefix + `[A-Za-z0-9_-]{43}`
)

// places are where a secret of any shape stands.
func places() []shape {
	return []shape{
		// Authorization headers, also with Proxy- or X- before.
		led(`\b(?i)(authorization\s*[:=]\s*["']?(?:bearer|basic|token|digest)\s+)[A-Za-z0-9+/=._~:-]{6,}`, "authorization"),
		led(`\b(?i)(authorization\s*:\s*[\w-]+\s+)[^\s"'\[$][^"'\n]{2,}`, "authorization"), // any scheme
		looks(`\b(?i)(authorization\s*:\s*)[^\s"'\[$]{6,}(["'\n]|$)`, "authorization"),     // none
		led(`\b(?i)((?:api-?key|auth-?token|access-?token|secret|auth-?key)\s*:\s*)[^\s"'\[$][^\s"']{2,}`,
			"apikey", "api-key", "authtoken", "auth-token", "accesstoken", "access-token", "secret", "authkey", "auth-key"),
		led(`\b(?i)(bearer )[A-Za-z0-9+/=._~-]{16,}`, "bearer "),
		// User information in a URL: the password, or a token in the user's place.
		looks(`(://[^\s/:@"'<>]*:)[^\s/@"'<>]+@`, "://"),
		looks(`(://)[^\s/:@"'<>]{20,}@`, "://"),
		// Options: --password x, --token=x.
		looks(`(?i)(--(?:[a-z0-9]+-)*(?:password|passwd|passphrase|secret|token|api-?key)(?:[ =]))(?:"[^"]*"|'[^']*'|[^\s"'$-][^\s"']*)`,
			"password ", "password=", "passwd ", "passwd=", "passphrase ", "passphrase=", "secret ", "secret=", "token ", "token=", "key ", "key="),
		// Options of programs that take a password or user:password: curl -u, sshpass
		// -p, mysql -pX, openssl -k.
		looks(`(?i)(\b(?:curl|wget|http|https|aria2c)\b[^|;&\n]*?\s(?:-u|--user|--proxy-user|-U)[ =]?["']?[^\s:"']+:)[^\s"'\[$][^\s"']*`,
			" -u", "\t-u", "\n-u", "\f-u", "\r-u", "--user", "--proxy-user"),
		looks(`(\bsshpass\s+-p\s*)(?:"[^"]*"|'[^']*'|[^\s"'\[$]\S*)`, "sshpass"),
		looks(`(\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^|;&\n]*?\s-p)[^\s"'\[$]\S*`, "mysql", "mariadb"),
		looks(`(\bopenssl\b[^|;&\n]*?\s-(?:k|K|pass pass:|passin pass:|passout pass:)\s*)[^\s"'\[$]\S*`, "openssl"),
		// What is piped into --password-stdin.
		looks(`((?:^|[|;&\n(]\s*)\s*(?:echo|printf)\s+(?:-\w+\s+)*)(?:"[^"$]*"|'[^']*'|[^\s"'\[$]\S*)(\s*\|[^\n;&]*--password-stdin)`, "--password-stdin"),
		// Assignments and fields: password=x, "api_key": "x", AWS_SECRET_ACCESS_KEY=x.
		led(`(?i)((?:password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|private_?key|auth_?key)(?:[_-](?:id|key|value|access_key))?["']?\s*(?:=|:\s|:=)\s*)(?:"[^"\n]{3,}"|'[^'\n]{3,}'|[^\s"'$&;,|(){}<>][^\s"'&;,|(){}<>]{2,})`,
			"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "accesskey", "access_key", "privatekey", "private_key", "authkey", "auth_key"),
	}
}

// bare are the tokens alone, all are tokens and then places: which of both have a
// cue is found in one look, since no cue comes about where a token is taken out.
var (
	all  = sync.OnceValue(func() *family { return familyOf(slices.Concat(tokens(), places())) })
	bare = sync.OnceValue(func() *family { return familyOf(tokens()) })
)

// userinfo says that a pattern also ate the "@" of a URL.
var userinfo = Pattern(`://`)

// Redact returns s with what looks like a secret replaced by [redacted]: tokens
// of known shapes, private key blocks, passwords in URLs, and the values of
// assignments, options and fields that are named password, token, secret or
// key. It knows shapes only: what has none stays.
func Redact(s string) string { return all().redact(s) }

// Tokens is Redact for what has the shape of a secret itself: tokens and private
// keys. What stands in a place for secrets stays.
func Tokens(s string) string { return bare().redact(s) }

// removed is what is left of a match.
func (sh *shape) removed(match string) string {
	kept, after := "", ""
	if g := sh.re().FindStringSubmatch(match); len(g) > 2 {
		kept, after = g[1], g[2]
	} else if len(g) > 1 {
		kept = g[1]
	}
	if strings.HasSuffix(match, "@") && userinfo().MatchString(kept) {
		return kept + Removed + "@"
	}
	return kept + Removed + after
}
