//go:build !linux

package main

import "time"

const usageOfAThread = 1 // RUSAGE_THREAD, which package syscall does not name

// threadTime returns the CPU time of the calling thread.
func threadTime() time.Duration { return timeUsed(usageOfAThread) }
