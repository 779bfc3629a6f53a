package tools

import (
	"os"
	"sync"
	"time"
)

// pipes are the streams of a command while they are read.
type pipes struct {
	files []*os.File
	done  chan struct{} // closed when all have ended
	moved chan struct{} // gets a value when something came
}

// openPipes makes a pipe for each stream and reads it into its capture. The
// caller closes the ends to write to once the command has them.
func openPipes(out, errs *capture) (p *pipes, outW, errW *os.File, err error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return nil, nil, nil, err
	}
	p = &pipes{files: []*os.File{outR, errR}, done: make(chan struct{}), moved: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(func() { p.copy(outR, out) })
	wg.Go(func() { p.copy(errR, errs) })
	go func() { wg.Wait(); close(p.done) }()
	return p, outW, errW, nil
}

func (p *pipes) copy(f *os.File, c *capture) {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			_, _ = c.Write(buf[:n])
			select {
			case p.moved <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// settle waits until the pipes have ended, or were silent for a moment, or
// something kept writing for too long.
func (p *pipes) settle() {
	quiet := time.NewTimer(drain)
	defer quiet.Stop()
	latest := time.NewTimer(drainUp)
	defer latest.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-quiet.C:
			return
		case <-latest.C:
			return
		case <-p.moved:
			quiet.Reset(drain)
		}
	}
}

// close ends the reading, also of a pipe that somebody still holds.
func (p *pipes) close() {
	for _, f := range p.files {
		f.Close()
	}
	<-p.done
}
