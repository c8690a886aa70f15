// N trees of 1,000 small objects, which all stay reachable, and ten full collections of them.
// Prints the CPU seconds of the collector, as counted by the runtime, and the seconds of the ten collections.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"
)

type node struct{ left, right *node }

func grow(count int) *node {
	if count == 0 {
		return nil
	}
	half := (count - 1) / 2
	return &node{grow(half), grow(count - 1 - half)}
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	roots := make([]*node, count)
	for i := range roots {
		roots[i] = grow(1_000)
	}
	start := time.Now()
	for i := 0; i < 10; i++ {
		runtime.GC()
	}
	seconds := time.Since(start).Seconds()
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(samples)
	runtime.KeepAlive(roots)
	fmt.Printf("gc_seconds %f\n%f\n", samples[0].Value.Float64(), seconds)
}
