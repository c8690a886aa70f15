// Holds goroutines that sleep; each can be cancelled, and is replaced as it ends.
// Arguments: how many, and the least and the most seconds that they sleep.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	least, most  float64
	drawn, ended atomic.Int64
	quit         = make(chan struct{}) // each value cancels one task
)

// length returns the next sleep, of a sequence that covers the range evenly.
func length() time.Duration {
	_, at := math.Modf(float64(drawn.Add(1)) * 0.6180339887498949)
	return time.Duration((least + at*(most-least)) * float64(time.Second))
}

func task() {
	timer := time.NewTimer(length())
	select {
	case <-timer.C:
		ended.Add(1)
		go task()
	case <-quit:
		timer.Stop()
	}
}

func main() {
	var count int
	fmt.Sscan(os.Args[1], &count)
	fmt.Sscan(os.Args[2], &least)
	fmt.Sscan(os.Args[3], &most)
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("idle")
	lines.Scan()
	began := time.Now()
	var begun sync.WaitGroup
	begun.Add(count)
	for range count {
		go func() {
			begun.Done()
			task()
		}()
	}
	begun.Wait()
	fmt.Println("live", time.Since(began).Seconds())
	for lines.Scan() {
		fmt.Println("ended", ended.Load())
	}
}
