package elicit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// How long a sealed question may travel, and how many may be on their way.
const (
	lifetime = 5 * time.Minute
	maxOpen  = 256
)

// ErrState says that a state is not an open question about this call: altered,
// expired, answered before, or made for another call or another caller.
var ErrState = errors.New("the state is not an open question about this call")

// Book keeps the questions that are on their way through a client and come back
// from it with an answer. Each is sealed: signed with a key that never leaves
// the process, bound to one call and one caller, redeemed once, and expiring.
// It is safe for concurrent use; NewBook makes one.
type Book struct {
	key  []byte
	mu   sync.Mutex
	open map[string]time.Time // nonce to expiry
	now  func() time.Time
}

// NewBook returns an empty book with a random key.
func NewBook() *Book {
	b := &Book{key: make([]byte, 32), open: map[string]time.Time{}, now: time.Now}
	rand.Read(b.key) // never fails: crypto/rand ends the process instead
	return b
}

// seal is what a state says. Session is in it so that an answer given in one
// session is worth nothing in another.
type seal struct {
	Digest, Tool, Principal, Session string
	Nonce                            string
	Asked, Expires                   int64 // Unix milliseconds
}

// Seal opens q and returns the state that stands for it.
func (b *Book) Seal(q Question) (string, error) {
	if q.Digest == "" || q.Tool == "" {
		return "", errors.New("a question without tool and digest cannot be sealed")
	}
	now := b.now()
	s := seal{Digest: q.Digest, Tool: q.Tool, Principal: q.Principal, Session: q.Session,
		Nonce: rand.Text(), Asked: now.UnixMilli(), Expires: now.Add(lifetime).UnixMilli()}
	body, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("sealing a question: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(now)
	b.open[s.Nonce] = now.Add(lifetime)
	enc := base64.RawURLEncoding
	return enc.EncodeToString(body) + "." + enc.EncodeToString(b.mac(body)), nil
}

// Redeem closes the question that state stands for and returns when it was
// asked. It must be called before the answer is looked at: whatever the answer
// is, and whatever Redeem finds wrong with a state that is ours, the state is
// used up. Every error is ErrState.
func (b *Book) Redeem(state string, q Question) (asked time.Time, err error) {
	head, tail, ok := strings.Cut(state, ".")
	body, err1 := base64.RawURLEncoding.DecodeString(head)
	mac, err2 := base64.RawURLEncoding.DecodeString(tail)
	if !ok || err1 != nil || err2 != nil || !hmac.Equal(mac, b.mac(body)) {
		return time.Time{}, ErrState
	}
	var s seal
	if json.Unmarshal(body, &s) != nil {
		return time.Time{}, ErrState
	}
	if !b.spend(s.Nonce) || b.now().UnixMilli() >= s.Expires ||
		s.Digest != q.Digest || s.Tool != q.Tool || s.Principal != q.Principal || s.Session != q.Session {
		return time.Time{}, ErrState
	}
	return time.UnixMilli(s.Asked), nil
}

// Open is the number of questions that are on their way.
func (b *Book) Open() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(b.now())
	return len(b.open)
}

func (b *Book) spend(nonce string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.open[nonce]
	delete(b.open, nonce)
	return ok
}

// drop forgets what has expired, and the oldest question where the book is full:
// its answer will count for nothing and it must be asked again.
func (b *Book) drop(now time.Time) {
	oldest := ""
	for nonce, expires := range b.open {
		if !now.Before(expires) {
			delete(b.open, nonce)
		} else if oldest == "" || expires.Before(b.open[oldest]) {
			oldest = nonce
		}
	}
	if len(b.open) >= maxOpen {
		delete(b.open, oldest)
	}
}

func (b *Book) mac(body []byte) []byte {
	m := hmac.New(sha256.New, b.key)
	m.Write(body)
	return m.Sum(nil)
}
