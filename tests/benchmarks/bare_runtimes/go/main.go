// Starts as many sleeping goroutines as the argument states, each of which a context can cancel.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func resident() int {
	statm, _ := os.ReadFile("/proc/self/statm")
	var size, pages int
	fmt.Sscan(string(statm), &size, &pages)
	return pages * os.Getpagesize()
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	before := resident()
	began := time.Now()

	var live sync.WaitGroup
	live.Add(count)
	for range count {
		go func() {
			live.Done()
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
		}()
	}
	live.Wait()

	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"seconds": time.Since(began).Seconds(), "rss_before": before, "rss": resident(),
	})
}
