package main

import (
	"sync/atomic"
	"time"
)

// Counts are the counters of a worker; every field but live is cumulative.
type Counts struct{ created, completed, failed, cancelled atomic.Int64 }

// ended is always read before created, so that live is never negative.
func (c *Counts) ended() int64 { return c.completed.Load() + c.failed.Load() + c.cancelled.Load() }

func (c *Counts) live() int64 {
	ended := c.ended()
	return c.created.Load() - ended
}

// Goal is the target, and how many tasks are still missing. Only the controller uses it.
type Goal struct {
	target    int64
	left      int64 // without refill: tasks of the target still to be created
	due       int64 // the value of "created" at which the target is met
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
	g.created, g.cancelled = c.created.Load(), c.cancelled.Load()
	g.due, g.arrived = g.created+g.left, now
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
	return !g.arrived.IsZero() && c.created.Load() >= g.due && c.live() <= g.target
}
