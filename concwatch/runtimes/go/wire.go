package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

type fields map[string]any

// Wire writes reports, a line each.
type Wire struct {
	mutex sync.Mutex
	file  *os.File
}

// openWire duplicates both pipes: what tasks print goes to standard error, and what they read is empty.
func openWire() (*os.File, *Wire) {
	in, _ := syscall.Dup(0)
	out, _ := syscall.Dup(1)
	nothing, _ := os.Open(os.DevNull)
	syscall.Dup3(int(nothing.Fd()), 0, 0)
	syscall.Dup3(2, 1, 0)
	nothing.Close()
	return os.NewFile(uintptr(in), "commands"), &Wire{file: os.NewFile(uintptr(out), "reports")}
}

func (w *Wire) send(kind string, report fields) {
	report["type"] = kind
	line, _ := json.Marshal(report)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if _, err := w.file.Write(append(line, '\n')); err != nil {
		os.Exit(0) // the reader is gone
	}
}

// refuse answers an invalid command: one line of bounded length, whatever it quotes.
func (w *Wire) refuse(command string, err error) {
	message := fmt.Sprintf("%.1000s", strings.Join(strings.Fields(err.Error()), " "))
	report := fields{"command": nil, "message": message, "detail": nil}
	if command != "" {
		report["command"] = fmt.Sprintf("%.60s", command)
	}
	w.send("error", report)
}
