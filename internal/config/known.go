package config

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"handrail/guard/text"
	"handrail/tools"
	"handrail/tools/sandbox"
)

// Bounds of the files that are looked into for secrets.
const (
	maxSecretFile = 64 << 10
	minSecret     = 12 // bytes of a word in one
)

// secretVariable is how variables are called whose value is a secret.
var secretVariable = regexp.MustCompile(`(?i)(token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|auth_?key|_key$|_pass$|_pw$|_dsn$|database_url)`)

// known are the secrets of the server's user that stand in its environment and
// in files of credentials: what commands do not get, and what may come out all
// the same.
func (c *Config) known() *text.Known {
	values := []string{c.LLM.APIKey}
	passed := tools.Environment(nil, "")
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if _, ok := passed[name]; !ok && secretVariable.MatchString(name) && !filepath.IsAbs(value) {
			values = append(values, value)
		}
	}
	for _, name := range sandbox.DefaultCredentials {
		if !strings.HasSuffix(name, "_history") { // words of all kinds
			values = append(values, secretWords(filepath.Join(c.userHome(), name))...)
		}
	}
	return text.NewKnown(values...)
}

// Redactor takes secrets of the server's user out of texts, and Handrail's own
// tokens.
func (c *Config) Redactor() func(string) string { return c.known().Redact }

// redact is what takes secrets out of results and questions. On a server for
// several principals, tokens and keys go by their shape too: there they are
// nobody's who is asked.
func (c *Config) redact() func(string) string {
	known := c.known()
	if c.Principal == "" {
		return known.Redact
	}
	return func(s string) string { return text.Tokens(known.Redact(s)) }
}

// secretWords are the words of a small file that can be secrets: long, of letters
// and digits, no path and no host. A directory has none: keys in it go by shape.
func secretWords(file string) (words []string) {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile))
	if err != nil {
		return nil
	}
	for _, w := range strings.FieldsFunc(string(data), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"',;:=@<>{}[]`, r) }) {
		if len(w) >= minSecret && strings.ContainsAny(w, "0123456789") && strings.IndexFunc(w, unicode.IsLetter) >= 0 && !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, "//") && !strings.Contains(w, ".") {
			words = append(words, w)
		}
	}
	return words
}
