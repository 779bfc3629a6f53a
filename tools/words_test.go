package tools

import (
	"strings"
	"testing"

	"handrail/guard"
)

// TestEveryEffectHasWords: no action of the vocabulary is without its phrase,
// no phrase is for one that does not exist, and each names its target.
func TestEveryEffectHasWords(t *testing.T) {
	n := 0
	for kind, actions := range guard.Actions {
		if _, ok := weight[kind]; !ok {
			t.Errorf("%v has no weight", kind)
		}
		for _, action := range actions {
			n++
			if phrase := phrases[act{kind, action}]; strings.Count(phrase, "%s") != 1 {
				t.Errorf("%v %q: phrase %q", kind, action, phrase)
			}
		}
	}
	if n != len(phrases) {
		t.Errorf("%d phrases for %d actions", len(phrases), n)
	}
}

func TestDescribe(t *testing.T) {
	for want, e := range map[string]guard.Effect{
		"deletes /tmp/x and everything below it":                {Kind: guard.Delete, Target: "/tmp/x", Exact: true, Deep: true},
		"deletes /tmp/x (3 files, all ignored by git)":          {Kind: guard.Delete, Target: "/tmp/x", Exact: true, Loss: &guard.Loss{Files: 3, Ignored: 3, Products: 3}},
		"writes something at or below /tmp":                     {Kind: guard.Write, Target: "/tmp"},
		"reaches example.org":                                   {Kind: guard.Network, Target: "example.org", Exact: true},
		"gains rights: runs sudo":                               {Kind: guard.Privilege, Target: "sudo", Exact: true},
		"reads /a (reached through a link)":                     {Kind: guard.Read, Target: "/a", Exact: true, Note: "reached through a link"},
		"does something that cannot be known before it runs: x": {Target: "x"},
		"does (read odd) something to /a":                       {Kind: guard.Read, Action: "odd", Target: "/a", Exact: true},
	} {
		if got := Describe(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
