package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Name is a file name or path. In JSON one that is not valid UTF-8, or begins
// with a quote, is written as a Go string, so that every byte of it survives.
type Name string

// MarshalText writes the name.
func (n Name) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) && !strings.HasPrefix(string(n), `"`) {
		return []byte(n), nil
	}
	return strconv.AppendQuote(nil, string(n)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (n *Name) UnmarshalText(b []byte) error {
	s := string(b)
	if strings.HasPrefix(s, `"`) {
		var err error
		if s, err = strconv.Unquote(s); err != nil {
			return err
		}
	}
	*n = Name(s)
	return nil
}
