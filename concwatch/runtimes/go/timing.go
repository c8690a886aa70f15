package main

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	refillTime  = time.Millisecond // of one token: a thousand tasks a second are timed
	timedAtOnce = 50
	mostTimings = 10_000 // between two ticks
)

// TokenBucket limits how many tasks are timed; it starts full.
type TokenBucket struct {
	full atomic.Int64 // nanoseconds since the start of the process, when the bucket is full again
}

// take removes up to the wanted number of tokens and returns how many there were.
func (b *TokenBucket) take(wanted int64) int64 {
	now := int64(sinceStart())
	for {
		before := b.full.Load()
		full := max(before, now)
		taken := min(wanted, timedAtOnce-(full-now+int64(refillTime)-1)/int64(refillTime))
		if taken <= 0 {
			return 0
		}
		if b.full.CompareAndSwap(before, full+taken*int64(refillTime)) {
			return taken
		}
	}
}

// Timings collects durations between two ticks.
type Timings struct {
	mutex sync.Mutex
	all   []float64 // seconds
}

// add rounds up, since no task ends before its time.
func (t *Timings) add(length time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.all) < mostTimings {
		t.all = append(t.all, float64((length+time.Microsecond-1)/time.Microsecond)/1e6)
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
	return func(quit <-chan struct{}) error {
		began := time.Now()
		w.delays.add(began.Sub(created))
		err := body(quit)
		if err == nil {
			w.durations.add(time.Since(began))
		}
		return err
	}
}
