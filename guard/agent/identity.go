package agent

import (
	"context"
	"errors"
	"fmt"
)

// errOther is what a model comes to that is not the one that passed the
// self-test: whoever can reach the server can put another one under its name.
var errOther = fmt.Errorf("%w: another model stands under the name of the one that was tested", ErrServer)

// installed returns the digest of the model as it is on the server now; empty
// where the server has none under its name.
func (a *Agent) installed(ctx context.Context) (string, error) {
	list, err := a.client.List(ctx)
	if err != nil {
		return "", asServer(fault(ctx, err))
	}
	for _, x := range list.Models {
		if x.Name == a.opt.Model || x.Name == a.opt.Model+":latest" {
			return x.Digest, nil
		}
	}
	return "", nil
}

// same checks before a conversation that the model is still the one that was
// checked. Where it is not, the next call has it checked anew; with Once,
// nothing has.
func (a *Agent) same(ctx context.Context, m *model) error {
	digest, err := a.installed(ctx)
	switch {
	case ctx.Err() != nil:
		return ErrTime
	case err != nil:
		return err
	case digest == m.digest:
		return nil
	}
	return errOther
}

// lost forgets the model after a fault of the server: it may be another one
// when it is back. The lock is held.
func (a *Agent) lost(err error) {
	a.state.model = nil
	switch {
	case !a.opt.Once:
	case errors.Is(err, errOther):
		a.state.err = err
	default:
		a.state.err = fmt.Errorf("%w; it is looked for again only after a restart", err)
	}
}
