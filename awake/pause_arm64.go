package awake

// pause leaves the core to its other hardware thread n times.
//
//go:noescape
func pause(n uint64)
