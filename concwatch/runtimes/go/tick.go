package main

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"
)

const (
	heapMetric = "/memory/classes/heap/objects:bytes"
	gcMetric   = "/cpu/classes/gc/total:cpu-seconds"
)

var processStart = time.Now()

func sinceStart() time.Duration { return time.Since(processStart) }

func runtimeName() string { return "Go " + runtime.Version()[len("go"):] }

// flags returns what else affects the figures; a memory limit only if one is set.
func flags() []string {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(samples)
	gogc, limit := samples[0].Value.Uint64(), samples[1].Value.Uint64()
	all := []string{fmt.Sprintf("GOMAXPROCS %d", runtime.GOMAXPROCS(0)), fmt.Sprintf("GOGC %d", int64(gogc))}
	if limit < math.MaxInt64 {
		all = append(all, fmt.Sprintf("GOMEMLIMIT %d", limit))
	}
	return all
}

// tick sends ticks from a goroutine that is scheduled like any other: its delay is the lag.
func (w *Worker) tick() {
	samples := []metrics.Sample{{Name: heapMetric}, {Name: gcMetric}}
	timer := time.NewTimer(0)
	for due := time.Now(); ; {
		select {
		case <-timer.C:
		case <-w.soon:
			due = time.Now()
		}
		late := max(0, time.Since(due))
		metrics.Read(samples)
		counts := &w.counts
		// Before started: live is never negative.
		finished, failed, cancelled := counts.finished.Load(), counts.failed.Load(), counts.cancelled.Load()
		started, replaced := counts.started.Load(), counts.replaced.Load()
		usage := usageOf(syscall.RUSAGE_SELF)
		w.wire.send("tick", fields{
			"time": sinceStart().Seconds(), "created": started + replaced, "live": started - finished - failed - cancelled,
			"queued": 0, "completed": finished + replaced, "failed": failed, "cancelled": cancelled,
			"lag": late.Seconds(),
			"gc":  samples[1].Value.Float64(), "heap": samples[0].Value.Uint64(),
			"cpu":      seconds(usage.Utime) + seconds(usage.Stime),
			"switches": usage.Nvcsw + usage.Nivcsw, "durations": w.durations.take(), "delays": w.delays.take(),
		})
		due = due.Add(time.Duration(w.interval.Load()))
		if now := time.Now(); due.Before(now) {
			due = now // do not catch up
		}
		timer.Reset(time.Until(due))
	}
}

// seconds converts a time of the system to seconds.
func seconds(time syscall.Timeval) float64 {
	return float64(time.Sec) + float64(time.Usec)/1e6
}
