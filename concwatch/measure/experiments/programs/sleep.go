// As published: N goroutines that sleep ten seconds.
package main

import (
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	numRoutines, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for i := 0; i < numRoutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			time.Sleep(10 * time.Second)
		}()
	}
	wg.Wait()
}
