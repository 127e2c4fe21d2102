// Program pause is the first process of a Pod: it holds the Pod's namespaces, reaps processes that lost their parent, and ends when it is
// told to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A signal that comes while the channel is full is dropped; one for ended children is enough, because all of them are reaped.
	ends := make(chan os.Signal, 1)
	children := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(children, syscall.SIGCHLD)
	// Of those that ended before it listened.
	reap()
	for {
		select {
		case <-ends:
			return
		case <-children:
			reap()
		}
	}
}

// reap takes the exit status of each child that has ended, so that none stays as a zombie.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
