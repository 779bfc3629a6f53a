package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of what a session keeps.
const (
	maxJobs    = 8  // that run in the background at once
	maxOutputs = 64 // of ended commands
)

// owner is whose bounds hold for a call: those of its principal, however many
// sessions that opens; else its session's.
func (c *Call) owner() string {
	if c.Principal != "" {
		return "principal\x00" + c.Principal
	}
	return c.Session
}

// output is what a command of a session wrote: of one whose output was cut, so
// that the whole of it can be read, or of a job in the background.
type output struct {
	id, session, principal string
	credential             string // see Call.Credential
	owner                  string // see Call.owner
	began                  time.Time
	*ending
	done chan struct{} // closed when the command has ended
	stop func(error)   // ends it; the error is why
	held *confined     // what holds a job; nil of other commands

	mu   sync.Mutex
	read map[string]int64 // by stream: where reading goes on
}

// running reports whether the command has not ended yet.
func (o *output) running() bool {
	select {
	case <-o.done:
		return false
	default:
		return true
	}
}

// outputs are those of all sessions. The zero value is empty; it is safe for
// concurrent use.
type outputs struct {
	mu   sync.Mutex
	held map[string]*output
}

var errNoOutput = errors.New("there is no output of that id in this session: give the call_id of a call whose output was cut, or of a background job; the oldest are dropped")

// get returns an output of the call's session. Another session's is not there.
func (s *outputs) get(c Call, id string) (*output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.held[id]
	if o == nil || o.session != c.Session || o.principal != c.Principal {
		return nil, errNoOutput
	}
	return o, nil
}

// room reports by an error that an owner has as many jobs as it may.
func (s *outputs) room(owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var running []string
	for _, o := range s.held {
		if o.owner == owner && o.running() {
			running = append(running, o.id)
		}
	}
	if len(running) < maxJobs {
		return nil
	}
	slices.Sort(running)
	return fmt.Errorf("%d jobs run in the background already, and more are not allowed: end one first (output_id with end: true); they are %v", maxJobs, running)
}

// add keeps an output, and drops its owner's oldest where there are too many.
func (s *outputs) add(o *output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string]*output{}
	}
	s.held[o.id] = o
	var ended []*output
	for _, other := range s.held {
		if other.owner == o.owner && !other.running() {
			ended = append(ended, other)
		}
	}
	slices.SortFunc(ended, func(a, b *output) int { return cmp.Compare(a.began.UnixNano(), b.began.UnixNano()) })
	for len(ended) > maxOutputs {
		ended[0].close()
		delete(s.held, ended[0].id)
		ended = ended[1:]
	}
}

// withdraw ends the jobs that a credential started, and waits until they have.
// What they wrote stays their session's.
func (s *outputs) withdraw(credential string) {
	s.mu.Lock()
	var gone []*output
	for _, o := range s.held {
		if o.credential == credential && o.running() {
			gone = append(gone, o)
		}
	}
	s.mu.Unlock()
	for _, o := range gone {
		o.stop(errors.New("the credential that started it holds no more"))
	}
	for _, o := range gone {
		<-o.done
	}
}

// credentials are those that started jobs which run.
func (s *outputs) credentials() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.held {
		if o.credential != "" && o.running() {
			list = append(list, o.credential)
		}
	}
	return list
}

// end ends the jobs of the sessions that match, waits until they have, and
// drops all that was kept of those sessions.
func (s *outputs) end(match func(session string) bool) {
	s.mu.Lock()
	var gone []*output
	for id, o := range s.held {
		if match(o.session) {
			gone = append(gone, o)
			delete(s.held, id)
		}
	}
	s.mu.Unlock()
	for _, o := range gone {
		o.stop(errors.New("its session has ended"))
	}
	for _, o := range gone {
		<-o.done
		o.close()
	}
}

func (o *output) close() {
	for _, c := range []*capture{&o.out, &o.err} {
		c.mu.Lock()
		c.spool.close()
		c.mu.Unlock()
	}
}

// output is what the call's command writes.
func (j *job) output(e *ending) *output {
	return &output{id: j.id, session: j.call.Session, principal: j.call.Principal, credential: j.call.Credential, owner: j.call.owner(), began: j.began,
		ending: e, done: make(chan struct{}), stop: func(error) {}, read: map[string]int64{}}
}

// ended keeps the output of a command that has ended, where something was cut.
func (j *job) ended(e *ending) (id string) {
	o := j.output(e)
	close(o.done)
	j.box.outputs.add(o)
	return o.id
}

// background starts s as a job of the session and returns once it has ended or
// has run for a moment: what fails at once says so at once. after is called when
// it has ended.
func (j *job) background(ctx context.Context, s *script, after func(*ending)) (*output, error) {
	if err := j.box.outputs.room(j.call.owner()); err != nil {
		return nil, err
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // it outlives its call, not its session
	s.progress = nil
	run, err := s.start(own)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	o := j.output(run.ending)
	o.stop, o.held = cancel, j.held
	j.box.outputs.add(o)
	go func() {
		defer close(o.done)
		defer cancel(nil)
		s.attend(own, run)
		after(run.ending)
	}()
	select {
	case <-o.done:
	case <-ctx.Done():
	case <-time.After(startTime):
	}
	return o, nil
}

// startTime is how long the start of a job is watched.
const startTime = time.Second
