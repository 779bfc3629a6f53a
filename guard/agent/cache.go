package agent

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cached is the number of answers that are kept.
const cached = 512

// key names everything that the model saw: model, prompt and evidence.
type key [sha256.Size]byte

// cache remembers what the model allowed, for a short time. Nothing else is
// remembered: what it refused may be asked again. It is safe for concurrent
// use.
type cache struct {
	mu     sync.Mutex
	ttl    time.Duration
	held   map[key]answerAt
	oldest []key // in the order in which they came
}

type answerAt struct {
	answer  answer
	expires time.Time
}

func newCache(ttl time.Duration) *cache { return &cache{ttl: ttl, held: map[key]answerAt{}} }

func (c *cache) get(k key, now time.Time) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got, ok := c.held[k]
	if !ok || !now.Before(got.expires) {
		return answer{}, false
	}
	return got.answer, true
}

func (c *cache) put(k key, a answer, now time.Time) {
	if c.ttl < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.held[k]; !ok {
		if len(c.oldest) >= cached {
			delete(c.held, c.oldest[0])
			c.oldest = c.oldest[1:]
		}
		c.oldest = append(c.oldest, k)
	}
	c.held[k] = answerAt{a, now.Add(c.ttl)}
}
