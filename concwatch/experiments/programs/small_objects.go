// So many thousand small objects in a tree that stays reachable, and ten full collections of it.
// Tells the CPU seconds that the collector took, by the runtime's own count, and the seconds of the ten.
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
	root := grow(1_000 * count)
	start := time.Now()
	for i := 0; i < 10; i++ {
		runtime.GC()
	}
	seconds := time.Since(start).Seconds()
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(samples)
	runtime.KeepAlive(root)
	fmt.Printf("gc_seconds %f\n%f\n", samples[0].Value.Float64(), seconds)
}
