package main

import (
	"fmt"
	"syscall"
	"time"
)

// Burst runs tasks to their end, created without a pause as a plain program would. Meanwhile no target is held.
type Burst struct {
	tasks               int64
	began, created      time.Time
	beganCPU, createCPU time.Duration
}

func (w *Worker) burst(command Command) error {
	tasks, err := command.whole("tasks", 0, mostTasks)
	if err != nil {
		return err
	}
	if live := w.counts.live(); live > 0 || w.goal.target > 0 || w.bursting != nil {
		return fmt.Errorf("%d tasks are live; a burst needs none, and a target of 0", live)
	}
	for key, only := range map[string]any{"chunks": 1.0, "older": 0.0, "read_after": nil} {
		if command.fields[key] != only {
			return command.bad(key, fmt.Sprint(only, ", since a burst here has one part and no reading"))
		}
	}
	w.replaceable.Store(0)
	w.aim.Store(max(1, tasks))
	burst := &Burst{tasks: tasks, began: time.Now(), beganCPU: processTime()}
	for range tasks {
		w.start(w.body)
	}
	burst.created, burst.createCPU = time.Now(), processTime()-burst.beganCPU
	w.bursting = burst
	return nil
}

func (w *Worker) endBurst() {
	b := w.bursting
	w.wire.send("burst", fields{
		"tasks": b.tasks, "create_seconds": b.created.Sub(b.began).Seconds(), "create_cpu": b.createCPU.Seconds(),
		"seconds": time.Since(b.began).Seconds(), "cpu": (processTime() - b.beganCPU).Seconds(),
		"live": nil, "traced": nil,
	})
	w.bursting, w.goal.target = nil, 0
	leave(w.soon)
}

func processTime() time.Duration { return timeUsed(syscall.RUSAGE_SELF) }

func timeUsed(who int) time.Duration {
	usage := usageOf(who)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func usageOf(who int) (usage syscall.Rusage) {
	syscall.Getrusage(who, &usage)
	return usage
}
