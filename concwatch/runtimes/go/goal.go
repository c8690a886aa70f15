package main

import (
	"sync/atomic"
	"time"
)

// Counts are what a worker has done so far; every field but live is cumulative.
type Counts struct{ created, completed, failed, cancelled atomic.Int64 }

// ended is read before created everywhere, so that live is never below zero.
func (c *Counts) ended() int64 { return c.completed.Load() + c.failed.Load() + c.cancelled.Load() }

func (c *Counts) live() int64 {
	ended := c.ended()
	return c.created.Load() - ended
}

// Goal is the target, and what is still wanted to meet it. Only the controller touches it.
type Goal struct {
	target    int64
	left      int64 // without refill: how many of the burst are still to be created
	due       int64 // "created" at which all that was asked for has been created
	created   int64 // the counters when the target arrived
	cancelled int64
	refill    bool
	replacing bool // all that lives ends first: what a task does has changed
	asked     time.Time
}

func (g *Goal) ask(target int64, c *Counts, now time.Time) {
	g.target, g.left = target, target
	if !g.replacing {
		g.left = max(0, target-c.live())
	}
	g.created, g.cancelled = c.created.Load(), c.cancelled.Load()
	g.due, g.asked = g.created+g.left, now
}

func (g *Goal) setRefill(on bool) { g.refill, g.left = on, 0 }

func (g *Goal) replace(live int64) {
	again := min(live, g.target-g.left)
	if g.replacing { // those that still end are among what is left to be created already
		again = 0
	}
	g.replacing = live > 0
	g.left += again
	g.due += again
}

// settle makes what is live the target: growth is to stop.
func (g *Goal) settle(live int64) {
	g.target, g.left, g.asked = min(g.target, live), 0, time.Time{}
}

// wanted says how many tasks to create now or, below zero, to cancel.
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
	return !g.asked.IsZero() && c.created.Load() >= g.due && c.live() <= g.target
}
