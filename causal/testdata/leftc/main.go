// Leftc works for a while in C, and after that has nothing to do.
package main

/*
#include <unistd.h>

static void rest(void) { sleep(3); }
*/
import "C"

import (
	"fmt"
	"time"
)

func main() {
	time.Sleep(time.Second) // in which somebody may give the site its weight
	work()
	fmt.Println("done")
	time.Sleep(time.Hour)
}

//go:noinline
func work() { C.rest() }
