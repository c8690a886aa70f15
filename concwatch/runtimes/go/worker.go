package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	slice    = 10 * time.Millisecond // the longest that growing or shrinking may delay commands
	batch    = 256                   // tasks created between two checks of the clock
	ownBatch = 16                    // tasks that replace themselves before control runs: with 64, commands waited 0.8 s
)

// Worker holds a target. Only control grows and shrinks the number of tasks; every task counts its own end, and
// starts the one that replaces it.
type Worker struct {
	wire     *Wire
	inbox    Inbox
	counts   Counts
	goal     Goal
	body     Body
	bursting *Burst
	timing   TokenBucket
	most     int64         // the most tasks that were ever live at once
	quit     chan struct{} // a task that receives from it ends
	waits    Waits         // the tasks that wait for a server instead
	files    FileLimit
	ended    chan struct{} // holds a token when tasks have ended since control last checked
	soon     chan struct{} // holds a token when a tick is wanted at once
	interval atomic.Int64  // nanoseconds between two ticks
	aim      atomic.Int64  // the target, or the number of tasks of a burst; at least 1

	replaceable atomic.Int64         // how many tasks may start their replacement; below 0, control is woken instead
	replacement atomic.Pointer[Body] // what those do

	durations, delays Timings // of the tasks that are timed

	failureReported atomic.Bool // of the workload
}

func newWorker(wire *Wire) *Worker {
	w := &Worker{
		wire:  wire,
		inbox: Inbox{arrived: make(chan struct{}, 1)},
		goal:  Goal{refill: true},
		body:  pause(10 * time.Second),
		quit:  make(chan struct{}),
		ended: make(chan struct{}, 1),
		soon:  make(chan struct{}, 1),
	}
	w.waits.joined = w.ended
	w.interval.Store(int64(100 * time.Millisecond))
	return w
}

// leave puts a token into a channel of one, unless there is one already.
func leave(place chan struct{}) {
	select {
	case place <- struct{}{}:
	default:
	}
}

func (w *Worker) start(body Body) {
	w.counts.started.Add(1)
	go run(w, body)
}

func run(w *Worker, body Body) {
	if err := body(w.quit); err == errCancelled {
		w.counts.cancelled.Add(1)
	} else if err != nil {
		w.fail(err)
	} else if w.replaceable.Add(-1) >= 0 {
		w.replace()
		return
	} else {
		w.counts.finished.Add(1)
	}
	leave(w.ended)
}

// replace starts a task in place of one that has completed: waking control for each would cost more.
func (w *Worker) replace() {
	w.counts.replaced.Add(1)
	body := *w.replacement.Load()
	if w.timing.take(1) > 0 {
		body = w.timed(body)
	}
	go run(w, body)
}

// fail counts a task that has failed, and reports the first one of a workload.
func (w *Worker) fail(err error) {
	isLimit := errors.Is(err, syscall.EMFILE)
	if !isLimit && !w.failureReported.Swap(true) {
		w.wire.refuse("", fmt.Errorf("a task failed: %w", err))
	}
	w.counts.failed.Add(1) // after the report, to which the count refers
	if isLimit {
		w.files.hit.Store(true) // control then reads the count
	}
}

func (w *Worker) control() {
	for {
		for _, command := range w.inbox.take() {
			w.handle(command)
		}
		w.checkFiles()
		if w.bursting != nil && w.counts.live() == 0 {
			w.endBurst()
		}
		if w.bursting == nil && w.adjust() {
			continue
		}
		select {
		case <-w.inbox.arrived:
		case <-w.ended:
		}
	}
}

// adjust creates or cancels tasks for one slice of time; it returns whether more is to be done.
func (w *Worker) adjust() bool {
	live, end := w.counts.live(), time.Now().Add(slice)
	wanted := w.goal.wanted(live)
	w.aim.Store(max(1, w.goal.target))
	w.setReplacement(live)
	if wanted < 0 {
		w.cancel(live+wanted, end)
	}
	if wanted > 0 && live >= w.most && w.hitWall() {
		return true
	}
	for wanted > 0 && time.Now().Before(end) {
		some := min(wanted, batch)
		timed := w.timing.take(some)
		for range timed {
			w.start(w.timed(w.body))
		}
		for range some - timed {
			w.start(w.body)
		}
		w.goal.left = max(0, w.goal.left-some)
		wanted -= some
	}
	w.most = max(w.most, w.counts.live())
	w.reportReached()
	return w.goal.wanted(w.counts.live()) != 0
}

// setReplacement lets some tasks replace themselves. After that control has to run: where tasks end faster
// than the cores can create them, it would otherwise get no turn.
func (w *Worker) setReplacement(live int64) {
	if !w.goal.keepsUp(live) {
		w.replaceable.Store(0)
		return
	}
	body := w.body
	w.replacement.Store(&body)
	w.replaceable.Store(ownBatch)
}

// cancel ends tasks until at most rest are live, or the slice is over; it returns after they have been counted.
func (w *Worker) cancel(rest int64, end time.Time) {
	before, sent := w.counts.cancelled.Load(), int64(0)
	for time.Now().Before(end) {
		ending := sent - (w.counts.cancelled.Load() - before) // read first, so that it is never too many
		if w.counts.live()-ending <= rest {
			break
		}
		if w.waits.cancelOne() {
			sent++
			continue
		}
		select {
		case w.quit <- struct{}{}:
			sent++
		case <-w.ended: // a task waits for a server; or one has ended, and was the last that could have received
		}
	}
	for w.counts.cancelled.Load() < before+sent {
		<-w.ended
	}
}

func (w *Worker) reportReached() {
	g := &w.goal
	if !g.reached(&w.counts) {
		return
	}
	w.wire.send("reached", fields{
		"target": g.target, "live": w.counts.live(), "created": w.counts.created() - g.created,
		"cancelled": w.counts.cancelled.Load() - g.cancelled, "seconds": time.Since(g.arrived).Seconds(),
	})
	g.arrived = time.Time{}
	leave(w.soon)
}
