package main

import (
	"sync"
	"time"
)

const (
	timedPerSecond = 1_000
	timedAtOnce    = 50
	mostTimings    = 10_000 // between two ticks
)

// TokenBucket limits how many tasks are timed; it starts full.
type TokenBucket struct {
	tokens float64
	filled time.Time
}

// take removes up to the wanted number of tokens and returns how many there were.
func (b *TokenBucket) take(wanted int64, now time.Time) int64 {
	b.tokens = min(timedAtOnce, b.tokens+now.Sub(b.filled).Seconds()*timedPerSecond)
	b.filled = now
	taken := min(wanted, int64(b.tokens))
	b.tokens -= float64(taken)
	return taken
}

// Timings collects durations between two ticks.
type Timings struct {
	mutex sync.Mutex
	all   []float64 // seconds
}

func (t *Timings) add(length time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.all) < mostTimings {
		t.all = append(t.all, length.Round(time.Microsecond).Seconds())
	}
}

func (t *Timings) take() []float64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	taken := append([]float64{}, t.all...)
	t.all = t.all[:0]
	return taken
}

// timed returns a body that records the delay of its task and, if it completes, its duration.
func (w *Worker) timed(body Body) Body {
	created := time.Now()
	return func(quit <-chan struct{}) bool {
		began := time.Now()
		w.delays.add(began.Sub(created))
		completed := body(quit)
		if completed {
			w.durations.add(time.Since(began))
		}
		return completed
	}
}
