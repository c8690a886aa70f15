package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

const (
	longest        = 1e6       // seconds
	mostRate       = 1_000_000 // tasks a second
	shortestMean   = 0.001     // seconds
	mostTicks      = 1_000_000
	largestPayload = 1 << 34
	pageSize       = 4096
	turn           = time.Millisecond
)

// A Body is what one task does; it returns errCancelled when it was cancelled, and another error if it failed.
type Body func(quit <-chan struct{}) error

var errCancelled = errors.New("cancelled")

var words = []string{"sleep", "churn", "ticks", "hold", "payload", "spin", "nop", "http", "connect"}

// bodyOf returns what a task of this workload does; target is what churn divides by its rate, and waits has the
// tasks that wait for a server.
func bodyOf(command Command, target *atomic.Int64, waits *Waits) (Body, error) {
	spec, err := command.word("spec")
	if err != nil {
		return nil, err
	}
	word, err := command.word("word")
	if err != nil {
		return nil, err
	}
	switch word {
	case "sleep", "spin":
		length, err := command.seconds("seconds")
		if word == "spin" {
			return spin(length), err
		}
		if err != nil || !command.has("to") {
			return pause(length), err
		}
		most, err := command.seconds("to")
		return pauses(func(u float64) float64 { return float64(length) + u*float64(most-length) }), err
	case "churn":
		rate, err := command.rate()
		return pauses(func(u float64) float64 {
			mean := max(shortestMean, float64(target.Load())/rate)
			return float64(time.Second) * min(longest, -mean*math.Log1p(-u))
		}), err
	case "ticks":
		count, err := command.whole("count", 1, mostTicks)
		if err != nil {
			return nil, err
		}
		length, err := command.seconds("seconds")
		return ticks(count, length), err
	case "hold":
		return hold, nil
	case "payload":
		size, err := command.whole("size", 0, largestPayload)
		return payload(size), err
	case "nop":
		return func(<-chan struct{}) error { return nil }, nil
	case "http":
		return fetch(command, waits)
	case "connect":
		return connect(command, waits)
	}
	return nil, fmt.Errorf("unknown workload \"%.60s\"; expected one of %s", spec, strings.Join(words, ", "))
}

func (c Command) seconds(key string) (time.Duration, error) {
	value, err := c.number(key, "seconds", 0, longest)
	return time.Duration(value * float64(time.Second)), err
}

func (c Command) rate() (float64, error) {
	value, is := c.fields["rate"].(float64)
	if !is || value <= 0 || value > mostRate {
		return 0, c.bad("rate", fmt.Sprintf("tasks a second, above 0 and at most %d", mostRate))
	}
	return value, nil
}

func pause(length time.Duration) Body {
	return func(quit <-chan struct{}) error { return sleep(length, quit) }
}

// pauses lets each task sleep a different time: nanoseconds of a number that covers 0 to 1 evenly.
func pauses(length func(u float64) float64) Body {
	const golden = 0.6180339887498949
	var count atomic.Uint64
	return func(quit <-chan struct{}) error {
		_, u := math.Modf(float64(count.Add(1)) * golden)
		return sleep(time.Duration(length(u)), quit)
	}
}

func sleep(length time.Duration, quit <-chan struct{}) error {
	timer := time.NewTimer(length)
	select {
	case <-timer.C:
		return nil
	case <-quit:
		timer.Stop()
		return errCancelled
	}
}

func ticks(count int64, length time.Duration) Body {
	step := pause(length)
	return func(quit <-chan struct{}) error {
		for range count {
			if err := step(quit); err != nil {
				return err
			}
		}
		return nil
	}
}

func hold(quit <-chan struct{}) error {
	<-quit
	return errCancelled
}

func payload(size int64) Body {
	return func(quit <-chan struct{}) error {
		held := make([]byte, size)
		for i := int64(0); i < size; i += pageSize {
			held[i] = 1
		}
		<-quit
		runtime.KeepAlive(held)
		return errCancelled
	}
}

// turns limits the spinning tasks that run at once: more would only delay the controller.
var turns = make(chan struct{}, runtime.GOMAXPROCS(0))

// spin uses CPU time, as measured by its thread, and yields after each turn.
func spin(total time.Duration) Body {
	return func(quit <-chan struct{}) error {
		for used := time.Duration(0); used < total; {
			select {
			case <-quit:
				return errCancelled
			case turns <- struct{}{}:
				used += useCPU(min(turn, total-used))
				<-turns
			}
		}
		return nil
	}
}

func useCPU(wanted time.Duration) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := threadTime(), time.Duration(0)
	for used < wanted {
		used = threadTime() - began
	}
	return used
}
