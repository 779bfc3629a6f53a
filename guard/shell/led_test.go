package shell

import "testing"

// TestLed: where curl is told to connect to is what is judged; all else that has
// colons stays as it is, and so does what names more than one place.
func TestLed(t *testing.T) {
	for text, want := range map[string]string{
		"a.example:80:10.9.9.9":               "10.9.9.9",
		"a.example:443:[2001:db8::1]":         "2001:db8::1",
		"a.example:443:b.example:8443":        "b.example:8443",
		"*:80:10.9.9.9":                       "10.9.9.9",
		"a.example:80:10.9.9.9,10.9.9.8":      "a.example:80:10.9.9.9,10.9.9.8",
		"a.example:80:":                       "a.example:80:",
		"a.example:x:10.9.9.9":                "a.example:x:10.9.9.9",
		"::b.example:443":                     "::b.example:443",
		"2001:1:2::3":                         "2001:1:2::3",
		"a.example:80":                        "a.example:80",
		"a.example":                           "a.example",
		"a.example:80:u@b.example:443":        "a.example:80:u@b.example:443",
		"a.example:80:b.example:443:10.9.9.9": "a.example:80:b.example:443:10.9.9.9",
	} {
		if got := led(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
