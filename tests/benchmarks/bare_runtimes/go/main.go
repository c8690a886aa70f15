// Holds goroutines that sleep; each can be cancelled, and is replaced as it ends. Arguments: number, least and most seconds.
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
	ended atomic.Int64
	quit  = make(chan struct{}) // each value ends one task
)

func task(seconds time.Duration) {
	timer := time.NewTimer(seconds)
	select {
	case <-timer.C:
		ended.Add(1)
		go task(seconds)
	case <-quit:
		timer.Stop()
	}
}

func main() {
	var count int
	var least, most float64
	fmt.Sscan(os.Args[1], &count)
	fmt.Sscan(os.Args[2], &least)
	fmt.Sscan(os.Args[3], &most)
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("idle")
	lines.Scan()
	began := time.Now()
	var begun sync.WaitGroup
	begun.Add(count)
	for i := range count {
		_, at := math.Modf(float64(i) * 0.6180339887498949)
		go func() {
			begun.Done()
			task(time.Duration((least + at*(most-least)) * float64(time.Second)))
		}()
	}
	begun.Wait()
	fmt.Println("live", time.Since(began).Seconds())
	for lines.Scan() {
		fmt.Println("ended", ended.Load())
	}
}
