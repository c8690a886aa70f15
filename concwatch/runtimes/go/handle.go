package main

import (
	"fmt"
	"runtime/debug"
	"time"
)

const (
	mostTasks = 1_000_000_000
	mostValue = 1 << 53
	known     = "target, refill, workload, halt, rate, trim, burst, stop"
)

func (w *Worker) handle(command Command) {
	err := command.broken
	if err == nil {
		err = w.apply(command)
	}
	if err != nil {
		w.wire.refuse(command.Type, err)
	} else if command.Type != "target" {
		seconds := time.Since(command.arrived).Seconds()
		w.wire.send("applied", fields{"command": command.Type, "seconds": seconds})
	}
}

func (w *Worker) apply(command Command) error {
	switch command.Type {
	case "target":
		return w.setTarget(command)
	case "refill":
		on, err := command.flag("on")
		if err == nil {
			w.goal.setRefill(on)
		}
		return err
	case "workload":
		body, err := bodyOf(command, &w.aim, &w.waits)
		if err == nil {
			w.body = body
			w.failureReported.Store(false)
			w.goal.replace(w.counts.live())
		}
		return err
	case "halt":
		return w.halt(command)
	case "rate":
		hz, err := command.number("hz", "ticks a second", 0.1, 100)
		if err == nil {
			w.interval.Store(int64(float64(time.Second) / hz))
			leave(w.soon)
		}
		return err
	case "trim":
		debug.FreeOSMemory() // also runs a collection
		return nil
	case "burst":
		return w.burst(command)
	}
	return fmt.Errorf("unknown command \"%.60s\"; expected one of %s", command.Type, known)
}

func (w *Worker) setTarget(command Command) error {
	tasks, err := command.whole("tasks", 0, mostTasks)
	if err == nil {
		w.goal.setTarget(tasks, &w.counts, command.arrived)
	}
	return err
}

func (w *Worker) halt(command Command) error {
	wall, err := command.word("wall")
	if err != nil {
		return err
	}
	value, err := command.whole("value", 0, mostValue)
	if err != nil {
		return err
	}
	w.stopGrowing(wall, value, "")
	return nil
}
