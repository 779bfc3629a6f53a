//go:build !linux

package cli

import (
	"context"
	"errors"

	"handrail/internal/config"
)

var errUsers = errors.New("principals with Unix users of their own are served on Linux only: start the server as a user of its own")

func (s streams) keep(context.Context, *config.Config, serving) error { return errUsers }

func (s streams) part(context.Context, *config.Config, serving) error { return errUsers }

func become(*config.Config, config.Account) error { return errUsers }
