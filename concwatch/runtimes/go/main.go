// A worker of concwatch whose tasks are goroutines. It speaks the wire that concwatch/portable/protocol/wire.py specifies.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
)

// listen passes every command on, and exits the process when the input ends.
func listen(in io.Reader, inbox *Inbox) {
	reader := bufio.NewReader(in)
	for line := []byte(nil); ; {
		piece, more, err := reader.ReadLine()
		if err != nil {
			os.Exit(0)
		}
		if len(line) <= longestLine { // of a line that is too long the beginning is enough: it is refused
			line = append(line, piece...)
		}
		if more {
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			command := parse(line)
			if command.Type == "stop" {
				os.Exit(0)
			}
			inbox.put(command)
		}
		line = line[:0]
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: worker ENGINE")
		os.Exit(2)
	}
	in, wire := openWire()
	worker := newWorker(wire)
	wire.send("ready", fields{
		"protocol": 1, "engine": os.Args[1], "runtime": runtimeName(), "flags": flags(), "pid": os.Getpid(),
		"can": []string{"trim", "burst"}, "workloads": words,
	})
	go worker.tick()
	go listen(in, &worker.inbox)
	worker.control()
}
