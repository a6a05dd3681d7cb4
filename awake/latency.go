package awake

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	latencyFile = "/dev/cpu_dma_latency"
	statesGlob  = "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state0/name"
)

// holdLatency asks the kernel for processors that need no time to wake, for as long as the file it returns is open: one that
// idles then looks for work in a loop (Documentation/power/pm_qos_interface.rst in Linux). That is better than
// processes of ours, as the processor stays idle for the scheduler, which puts a woken thread there. It fails where
// that is forbidden, which it is to all but root, and where processors have no such state to idle in.
func holdLatency(latencyFile, statesGlob string) (*os.File, error) {
	states, err := filepath.Glob(statesGlob)
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("no driver for idle processors: %s", statesGlob)
	}
	for _, s := range states {
		name, err := os.ReadFile(s)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(name)) != "POLL" {
			return nil, fmt.Errorf("%s is %q, not POLL", s, name)
		}
	}
	f, err := os.OpenFile(latencyFile, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	var none [4]byte // microseconds, an int32
	binary.NativeEndian.PutUint32(none[:], 0)
	if _, err := f.Write(none[:]); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
