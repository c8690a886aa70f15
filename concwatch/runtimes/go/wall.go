package main

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// reserve is the address space that growth leaves free: the heap takes it in arenas of 64 MiB, and a Go program
// that gets none dies, after it has written the stack of every goroutine.
const reserve = 192 << 20

// hitWall stops growth near the limit on address space; any other memory limit would kill the process.
func (w *Worker) hitWall() bool {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur > math.MaxInt64 {
		return false
	}
	statm, _ := os.ReadFile("/proc/self/statm")
	var pages uint64
	fmt.Sscan(string(statm), &pages)
	if pages*uint64(os.Getpagesize())+reserve < limit.Cur {
		return false
	}
	w.stopGrowing("ulimit -v memory", int64(limit.Cur), "no room is left for another arena of the heap")
	return true
}

// stopGrowing makes the live tasks the target, and reports what prevents more.
func (w *Worker) stopGrowing(wall string, value int64, detail string) {
	wanted, standing := w.goal.target, w.counts.live()
	w.goal.settle(standing)
	w.reportLimit(standing, wanted, wall, value, detail)
}

func (w *Worker) reportLimit(standing, wanted int64, wall string, value int64, detail string) {
	w.wire.send("limit", fields{
		"standing": standing, "wanted": wanted, "wall": wall, "value": value, "detail": detail,
	})
}
