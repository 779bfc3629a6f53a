package command

import (
	"testing"
)

func TestBuiltin(t *testing.T) {
	if _, err := Builtin(); err != nil {
		t.Fatal(err)
	}
}
