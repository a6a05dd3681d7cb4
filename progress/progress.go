// Package progress marks where a program makes progress.
//
// Headway finds progress points by name in unmodified programs, so most programs
// need nothing from here. A marker helps where no function's name says it: half
// of a loop's body, the moment a message is complete. Call Point where one unit
// of work is done, or Begin and End around one; Headway divides the work under
// way by the work done (Little's law), so what begins on one goroutine may end
// on another.
//
// In an ordinary build the three functions are empty and inlined: a marker costs
// nothing. Headway's build puts counters in their place.
package progress

// Point says that one unit of the work called name is done.
func Point(name string) {}

// Begin says that one unit of the work called name begins.
func Begin(name string) {}

// End says that one unit of the work called name, begun earlier, ends.
func End(name string) {}
