package main

import (
	"sync/atomic"
	"syscall"
	"time"
)

// quiet is how long no task must have failed at the limit on open files before it is reported.
const quiet = 250 * time.Millisecond

// FileLimit is the limit on open files. Running tasks hit it, many at once, and each that fails would be replaced
// by one that fails as well: so the target is lowered while they fail, and reported when that is over.
type FileLimit struct {
	hit     atomic.Bool // since control last checked
	wanted  int64       // the target before it was lowered
	lowered int64       // the one that it was lowered to
	at      time.Time   // when it was; zero while it has not been
}

// raiseFileLimit raises the soft limit on open files to the hard limit; Go itself raises it to one less.
func raiseFileLimit() {
	limit := fileLimit()
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit.Max, Max: limit.Max})
}

func fileLimit() (limit syscall.Rlimit) {
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit
}

// checkFiles lowers the target if tasks have hit the limit, and reports it once that is over.
func (w *Worker) checkFiles() {
	f := &w.files
	if f.hit.Swap(false) {
		live := w.counts.live()
		if live > w.goal.target || w.bursting != nil { // too many are live, and are being cancelled anyway
			return
		}
		if f.at.IsZero() || f.lowered != w.goal.target {
			f.wanted = w.goal.target
		}
		w.goal.settle(live)
		f.lowered, f.at = live, time.Now()
		time.AfterFunc(quiet, func() { leave(w.ended) })
	} else if !f.at.IsZero() && time.Since(f.at) >= quiet {
		f.at = time.Time{}
		if f.lowered == w.goal.target { // otherwise another target has been set since
			value := int64(fileLimit().Cur)
			w.reportLimit(f.lowered, f.wanted, "ulimit -n", value, syscall.EMFILE.Error())
		}
	}
}
