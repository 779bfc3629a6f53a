package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// However many calls one principal has waiting, another gets the next place.
func TestQueueIsFair(t *testing.T) {
	q := &Queue{All: 2, Each: 2, Waiting: 100}
	ctx := t.Context()
	for range 2 {
		if _, err := q.Enter(ctx, "greedy"); err != nil {
			t.Fatal(err)
		}
	}
	entered := make(chan string, 100)
	enter := func(who string, n int) {
		for range n {
			before := waiting(q)
			go func() {
				if _, err := q.Enter(ctx, who); err != nil {
					t.Error(err)
				}
				entered <- who
			}()
			until(t, "the call waits", func() bool { return waiting(q) > before })
		}
	}
	enter("greedy", 10)
	enter("modest", 2)
	enter("late", 1)
	var order []string
	for range 13 {
		q.Leave("greedy")
		who := <-entered
		order = append(order, who)
		if who != "greedy" { // their places go back at once, so that greedy's stand for all
			q.mu.Lock()
			q.of["greedy"].running++
			q.of[who].running--
			q.mu.Unlock()
		}
	}
	if got := fmt.Sprint(order[:5]); got != "[greedy modest late greedy modest]" {
		t.Errorf("%v", order)
	}
}

func waiting(q *Queue) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.of {
		n += len(l.waiting)
	}
	return n
}

func TestQueueBounds(t *testing.T) {
	q := &Queue{All: 3, Each: 1, Waiting: 1}
	if _, err := q.Enter(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := q.Enter(gone, "a")
		left <- err
	}()
	until(t, "the call waits", func() bool { return waiting(q) == 1 })
	if _, err := q.Enter(t.Context(), "a"); !errors.Is(err, ErrFull) {
		t.Errorf("one more waits: %v", err)
	}
	if _, err := q.Enter(t.Context(), "b"); err != nil { // another one's is free
		t.Error(err)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	q.Leave("a")
	q.Leave("b")
	if q.running != 0 || len(q.of) != 0 {
		t.Errorf("left behind: %+v", q)
	}
	var none *Queue
	if _, err := none.Enter(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	none.Leave("a")
}

// Whoever comes and goes, the bounds hold and nothing is left.
func TestQueueCrowd(t *testing.T) {
	q := &Queue{All: 4, Each: 2, Waiting: 1000}
	var mu sync.Mutex
	running := map[string]int{}
	var wg sync.WaitGroup
	for i := range 400 {
		who := fmt.Sprint(i % 5)
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				go cancel()
			}
			if _, err := q.Enter(ctx, who); err != nil {
				return
			}
			mu.Lock()
			running[who]++
			running[""]++
			if running[who] > q.Each || running[""] > q.All {
				t.Errorf("%v run at once", running)
			}
			running[who]--
			running[""]--
			mu.Unlock()
			q.Leave(who)
		})
	}
	wg.Wait()
	if q.running != 0 || len(q.of) != 0 {
		t.Errorf("left behind: %d, %v", q.running, q.of)
	}
}
