package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	scheme        = "tcp://127.0.0.1:"
	mostAddresses = 254
	pingLine      = "ping\n"
)

var errClosed = errors.New("the server closed the connection")

// connect returns a task that holds one connection.
func connect(command Command, waits *Waits) (Body, error) {
	spec, _ := command.word("spec")
	url, _ := command.fields["url"].(string)
	digits, is := strings.CutPrefix(url, scheme)
	port, err := strconv.ParseUint(digits, 10, 16)
	if !is || err != nil || port == 0 {
		return nil, fmt.Errorf("workload \"%.60s\" needs a \"url\" to connect to; expected %sPORT", spec, scheme)
	}
	addresses := int64(1)
	if command.has("addresses") {
		if addresses, err = command.whole("addresses", 1, mostAddresses); err != nil {
			return nil, err
		}
	}
	interval := time.Duration(0)
	if command.has("seconds") {
		if interval, err = command.seconds("seconds"); err != nil {
			return nil, err
		}
	}
	raiseFileLimit()
	var count atomic.Int64
	return func(<-chan struct{}) error {
		address := fmt.Sprintf("127.0.0.%d:%d", 1+(count.Add(1)-1)%addresses, port)
		// Not cancelled until it is connected, which takes microseconds: a context would take 3.7 KiB of each task.
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer connection.Close()
		return waits.during(func() { connection.Close() }, func() error { return ping(connection, interval) })
	}, nil
}

// ping sends a line and reads it back, again at every interval unless that is 0, until the connection ends.
func ping(connection net.Conn, interval time.Duration) error {
	received := make([]byte, len(pingLine))
	for {
		_, err := io.WriteString(connection, pingLine)
		if err == nil {
			_, err = io.ReadFull(connection, received)
		}
		if err == nil {
			if interval > 0 {
				connection.SetReadDeadline(time.Now().Add(interval))
			}
			_, err = connection.Read(received[:1]) // it returns when the server closes the connection
			connection.SetReadDeadline(time.Time{})
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return errClosed
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
}
