package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ollama/ollama/api"
)

// keepAlive is how long the server keeps the model in memory: loading it costs
// seconds.
const keepAlive = 30 * time.Minute

func ptr[T any](v T) *T { return &v }

// statusOf returns the status of an error answer, or 0.
func statusOf(err error) int {
	var status api.StatusError
	var auth api.AuthorizationError
	switch {
	case errors.As(err, &status):
		return status.StatusCode
	case errors.As(err, &auth):
		return auth.StatusCode
	}
	return 0
}

// request is what all turns of a conversation have in common.
func (a *Agent) request(m *model, messages []api.Message) *api.ChatRequest {
	r := &api.ChatRequest{
		Model: a.opt.Model, Messages: messages,
		// A prompt that does not fit must be an error, never cut.
		Stream: ptr(false), Truncate: ptr(false), Shift: ptr(false),
		Think: &api.ThinkValue{Value: false}, KeepAlive: &api.Duration{Duration: keepAlive},
		Options: map[string]any{"temperature": 0, "top_k": 1, "seed": 1, "num_ctx": m.context, "num_predict": a.opt.NumPredict},
	}
	if a.opt.Threads > 0 {
		r.Options["num_thread"] = a.opt.Threads
	}
	return r
}

// chat does one turn. A full queue is tried once more.
func (a *Agent) chat(ctx context.Context, m *model, r *api.ChatRequest) (*api.ChatResponse, error) {
	res, err := a.once(ctx, m, r)
	if !errors.Is(err, ErrBusy) {
		return res, err
	}
	select {
	case <-ctx.Done():
		return nil, ErrTime
	case <-time.After(250 * time.Millisecond):
	}
	return a.once(ctx, m, r)
}

// once does one request. The client returns nil for a cut connection, an empty
// answer, a deadline in the body and the server's stop at endless repetition:
// only exactly one answer that says that it is done, and why, is one. What came
// is returned beside an error, too, for the record.
func (a *Agent) once(ctx context.Context, m *model, r *api.ChatRequest) (*api.ChatResponse, error) {
	var res *api.ChatResponse
	answers := 0
	err := a.client.Chat(ctx, r, func(x api.ChatResponse) error { answers++; res = &x; return nil })
	switch {
	case err != nil:
		return res, fault(ctx, err)
	case ctx.Err() != nil:
		return res, ErrTime
	case answers != 1:
		return res, fmt.Errorf("%w: %d answers", ErrCut, answers)
	case res.RemoteHost != "" || res.RemoteModel != "":
		return res, fmt.Errorf("%w: another host answered (%s)", ErrServer, plain(res.RemoteHost))
	case !res.Done:
		return res, fmt.Errorf("%w: it did not finish", ErrCut)
	case res.DoneReason != "stop":
		return res, fmt.Errorf("%w: %s", ErrCut, plain(res.DoneReason))
	case res.PromptEvalCount+a.opt.NumPredict > m.context:
		return res, fmt.Errorf("%w: it fills the model's context", ErrTooLong)
	}
	return res, nil
}
