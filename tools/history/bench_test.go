package history

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
)

// tree makes a git work tree of n files of 4 KiB in directories of ten.
func (w *world) tree(n int) *world {
	w.Helper()
	for i := range n {
		if i%10 == 0 {
			if err := os.MkdirAll(w.dirOf(i), 0o755); err != nil {
				w.Fatal(err)
			}
		}
		content := strings.Repeat(fmt.Sprintf("%08d\n", i), 455)
		if err := os.WriteFile(filepath.Join(w.dirOf(i), fmt.Sprint(i)), []byte(content), 0o644); err != nil {
			w.Fatal(err)
		}
	}
	return w.git()
}

func (w *world) dirOf(i int) string {
	return filepath.Join(w.root, fmt.Sprint("d", i/1000), fmt.Sprint("e", i/10))
}

// A first snapshot reads everything; a second one looks at every name. What a
// contained call pays is Keep and Done: two looks.
func BenchmarkSnapshot(b *testing.B) {
	for _, files := range []int{5_000, 50_000} {
		w := newWorld(b, Limits{}).tree(files)
		b.Run(fmt.Sprintf("first/files=%d", files), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				dir := filepath.Join(b.TempDir(), "history")
				var err error
				if w.store, err = Open(dir, Limits{}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				w.keep(code)
			}
		})
		var err error
		if w.store, err = Open(filepath.Join(b.TempDir(), "history"), Limits{}); err != nil {
			b.Fatal(err)
		}
		w.keep(code)
		b.Run(fmt.Sprintf("second/files=%d", files), func(b *testing.B) {
			for range b.N {
				w.keep(code)
			}
		})
		b.Run(fmt.Sprintf("next-process/files=%d", files), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				var err error
				if w.store, err = Open(w.store.dir, Limits{}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				w.keep(code)
			}
		})
		b.Run(fmt.Sprintf("keep-and-done/files=%d", files), func(b *testing.B) {
			for range b.N {
				if err := w.keep(code).Done(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What true pays: nothing is kept.
func BenchmarkReads(b *testing.B) {
	w := newWorld(b, Limits{})
	facts := effects(guard.Effect{Kind: guard.Exec, Target: "true"})
	for range b.N {
		w.keep(facts)
	}
}

// What safe_write pays: one file before, the same after.
func BenchmarkWrite(b *testing.B) {
	w := newWorld(b, Limits{})
	facts := effects(guard.Effect{Kind: guard.Write, Target: w.root + "/f"})
	for i := range b.N {
		b.StopTimer()
		w.write("f", fmt.Sprint(i))
		b.StartTimer()
		if err := w.keep(facts).Done(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// Bringing back a tree that was deleted.
func BenchmarkUndo(b *testing.B) {
	w := newWorld(b, Limits{}).tree(5_000)
	for range b.N {
		b.StopTimer()
		r := w.call(code, "rm -rf d*")
		b.StartTimer()
		w.undone(r)
	}
}
