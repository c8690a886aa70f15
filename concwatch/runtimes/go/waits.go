package main

import "sync"

// Waits has the tasks that wait for a server: they cannot receive from a channel meanwhile.
type Waits struct {
	mutex   sync.Mutex
	all     []*Wait
	missing bool          // one was to be cancelled, but there was none
	joined  chan struct{} // is left a token when there is one again
}

// Wait is one such task.
type Wait struct {
	place     int // among all; -1 once it is cancelled
	interrupt func()
}

// during runs a task that waits for a server, and returns its error; interrupt ends what it waits for.
func (w *Waits) during(interrupt func(), task func() error) error {
	wait := &Wait{interrupt: interrupt}
	w.mutex.Lock()
	wait.place = len(w.all)
	w.all = append(w.all, wait)
	if w.missing {
		w.missing = false
		leave(w.joined)
	}
	w.mutex.Unlock()
	err := task()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if wait.place < 0 {
		return errCancelled
	}
	w.remove(wait)
	return err
}

// remove puts the last one in its place.
func (w *Waits) remove(wait *Wait) {
	end := len(w.all) - 1
	last := w.all[end]
	last.place = wait.place
	w.all[wait.place] = last
	w.all[end] = nil
	w.all = w.all[:end]
	wait.place = -1
}

// cancelOne cancels the newest; it returns whether there is one.
func (w *Waits) cancelOne() bool {
	w.mutex.Lock()
	if len(w.all) == 0 {
		w.missing = true
		w.mutex.Unlock()
		return false
	}
	wait := w.all[len(w.all)-1]
	w.remove(wait)
	w.mutex.Unlock()
	wait.interrupt()
	return true
}
