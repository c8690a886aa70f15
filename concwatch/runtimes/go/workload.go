package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

const (
	longest        = 1e6 // seconds
	mostTicks      = 1_000_000
	largestPayload = 1 << 34
	pageSize       = 4096
	turn           = time.Millisecond
)

// A Body is what one task does; it returns false when it was cancelled.
type Body func(quit <-chan struct{}) bool

var words = []string{"sleep", "ticks", "hold", "payload", "spin", "nop"}

func bodyOf(command Command) (Body, error) {
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
		return pauses(length, most), err
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
		return func(<-chan struct{}) bool { return true }, nil
	}
	return nil, fmt.Errorf("workload \"%.60s\": expected one of %s", spec, strings.Join(words, ", "))
}

func (c Command) seconds(key string) (time.Duration, error) {
	value, err := c.number(key, "seconds", 0, longest)
	return time.Duration(value * float64(time.Second)), err
}

func pause(length time.Duration) Body {
	return func(quit <-chan struct{}) bool { return sleep(length, quit) }
}

// pauses lets each task sleep a different time, evenly spread.
func pauses(least, most time.Duration) Body {
	const golden = 0.6180339887498949
	var count atomic.Uint64
	span := float64(most - least)
	return func(quit <-chan struct{}) bool {
		_, at := math.Modf(float64(count.Add(1)) * golden)
		return sleep(least+time.Duration(at*span), quit)
	}
}

func sleep(length time.Duration, quit <-chan struct{}) bool {
	timer := time.NewTimer(length)
	select {
	case <-timer.C:
		return true
	case <-quit:
		timer.Stop()
		return false
	}
}

func ticks(count int64, length time.Duration) Body {
	step := pause(length)
	return func(quit <-chan struct{}) bool {
		for range count {
			if !step(quit) {
				return false
			}
		}
		return true
	}
}

func hold(quit <-chan struct{}) bool {
	<-quit
	return false
}

func payload(size int64) Body {
	return func(quit <-chan struct{}) bool {
		held := make([]byte, size)
		for i := int64(0); i < size; i += pageSize {
			held[i] = 1
		}
		<-quit
		runtime.KeepAlive(held)
		return false
	}
}

// turns limits the spinning tasks that run at once: more would only delay the controller.
var turns = make(chan struct{}, runtime.GOMAXPROCS(0))

// spin uses CPU time, as measured by its thread, and yields after each turn.
func spin(total time.Duration) Body {
	return func(quit <-chan struct{}) bool {
		for used := time.Duration(0); used < total; {
			select {
			case <-quit:
				return false
			case turns <- struct{}{}:
				used += useCPU(min(turn, total-used))
				<-turns
			}
		}
		return true
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
