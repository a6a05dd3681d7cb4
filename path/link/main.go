package link

import (
	"context"
	"fmt"
	"os"
)

// Main runs the tests of a package that makes links, and exits:
//
//	func TestMain(m *testing.M) { link.Main(m) }
//
// An ordinary user's tests run in a user namespace of their own, see [Enter]. Where that is not
// to be had they run all the same, and [New] tells them that they cannot have a link: skip those
// that need one when its error is [ErrForbidden].
func Main(m interface{ Run() int }) {
	EnterOrExit()
	os.Exit(m.Run())
}

// EnterOrExit is what [Main] does first, for a TestMain that does more than run the tests.
func EnterOrExit() {
	done, code, err := Enter(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "tests that need a link are skipped: %v\n", err)
	}
	if done {
		os.Exit(code)
	}
}
