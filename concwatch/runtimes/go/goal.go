package main

import (
	"sync/atomic"
	"time"
)

// Counts are the counters of a worker, all cumulative. A task that ends and starts another in its place is counted
// once, in replaced, so that the number of live tasks is exact at any moment.
type Counts struct{ started, finished, replaced, failed, cancelled atomic.Int64 }

func (c *Counts) created() int64 { return c.started.Load() + c.replaced.Load() }

// live reads the ends first, so that it is never negative.
func (c *Counts) live() int64 {
	ended := c.finished.Load() + c.failed.Load() + c.cancelled.Load()
	return c.started.Load() - ended
}

// Goal is the target, and how many tasks are still missing. Only the controller uses it.
type Goal struct {
	target    int64
	left      int64 // without refill: tasks of the target still to be created
	due       int64 // the value of "started" at which the target is met
	created   int64 // the counters when the target arrived
	cancelled int64
	refill    bool
	replacing bool // live tasks are cancelled first: the workload has changed
	arrived   time.Time
}

func (g *Goal) setTarget(target int64, c *Counts, now time.Time) {
	g.target, g.left = target, target
	if !g.replacing {
		g.left = max(0, target-c.live())
	}
	g.created, g.cancelled = c.created(), c.cancelled.Load()
	g.due, g.arrived = c.started.Load()+g.left, now
}

func (g *Goal) setRefill(on bool) { g.refill, g.left = on, 0 }

func (g *Goal) replace(live int64) {
	again := min(live, g.target-g.left)
	if g.replacing { // tasks still being cancelled are already among those left to create
		again = 0
	}
	g.replacing = live > 0
	g.left += again
	g.due += again
}

// settle lowers the target to what is live, to stop growth.
func (g *Goal) settle(live int64) {
	g.target, g.left, g.arrived = min(g.target, live), 0, time.Time{}
}

// keepsUp returns whether a task that ends may start another in its place.
func (g *Goal) keepsUp(live int64) bool { return g.refill && !g.replacing && live <= g.target }

// wanted returns how many tasks to create or, if negative, to cancel.
func (g *Goal) wanted(live int64) int64 {
	if g.replacing {
		if g.replacing = live > 0; g.replacing {
			return -live
		}
	}
	if live > g.target || g.refill {
		return g.target - live
	}
	return min(g.left, g.target-live)
}

func (g *Goal) reached(c *Counts) bool {
	return !g.arrived.IsZero() && c.started.Load() >= g.due && c.live() <= g.target
}
