package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"
)

const longestLine = 1 << 20

// Command is one line of the input.
type Command struct {
	Type    string
	fields  fields
	arrived time.Time
	broken  error // why the line is not a command
}

func parse(line []byte) Command {
	command := Command{arrived: time.Now()}
	if len(line) <= longestLine && json.Unmarshal(line, &command.fields) == nil {
		command.Type, _ = command.fields["type"].(string)
	}
	if command.Type == "" {
		command.broken = fmt.Errorf("%.60q is not a command; expected one flat JSON object", line)
	}
	return command
}

func (c Command) bad(key, expected string) error {
	shown, _ := json.Marshal(c.fields[key])
	return fmt.Errorf("%q is %.60s; expected %s", key, shown, expected)
}

func (c Command) has(key string) bool {
	_, is := c.fields[key]
	return is
}

func (c Command) word(key string) (string, error) {
	value, is := c.fields[key].(string)
	if !is {
		return "", c.bad(key, "a string")
	}
	return value, nil
}

func (c Command) flag(key string) (bool, error) {
	value, is := c.fields[key].(bool)
	if !is {
		return false, c.bad(key, "true or false")
	}
	return value, nil
}

func (c Command) number(key, what string, least, most float64) (float64, error) {
	value, is := c.fields[key].(float64)
	if !is || value < least || value > most {
		return 0, c.bad(key, fmt.Sprintf("%s from %v to %.0f", what, least, most))
	}
	return value, nil
}

func (c Command) whole(key string, least, most int64) (int64, error) {
	value, err := c.number(key, "a whole number", float64(least), float64(most))
	if err == nil && value != math.Trunc(value) {
		err = c.bad(key, "a whole number")
	}
	return int64(value), err
}

// Inbox queues commands for control; putting one in never blocks.
type Inbox struct {
	mutex   sync.Mutex
	waiting []Command
	arrived chan struct{} // holds a token when it may not be empty
}

func (b *Inbox) put(command Command) {
	b.mutex.Lock()
	b.waiting = append(b.waiting, command)
	b.mutex.Unlock()
	leave(b.arrived)
}

func (b *Inbox) take() (all []Command) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	all, b.waiting = b.waiting, nil
	return all
}
