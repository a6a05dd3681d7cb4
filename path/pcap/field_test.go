package pcap

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/headway-lab/headway/path/diagnosis"
)

// Captures that once got a wrong name. They are of Linux's TCP over an emulated path of which all is known; of every packet the
// first 80 bytes: a queue of 16 KB in front of 20 Mbit/s and 100 ms (nothing is lost by chance), a policer at 5 Mbit/s that only the
// client's end saw, and a queue of 500 KB in front of 5 Mbit/s, full for so long that the timer fires too early. Two of a
// queue of 13 KB in front of 9 Mbit/s and 44 ms, called a policer at one end and chance at the other; and a policer at 4.7 Mbit/s whose losses lie on no line. The last two are of a small answer over TLS 1.3: in two writes with Nagle's algorithm, to a
// client that holds back its acknowledgement; and of a server whose handshake takes half a second.
func TestMistaken(t *testing.T) {
	for _, c := range []struct {
		file, says string
		want       diagnosis.Cause
	}{
		{"short-queue-sender.pcapng.gz", "a queue too short to show", diagnosis.NotClear},
		{"short-queue-receiver.pcapng.gz", "a queue too short to show", diagnosis.NotClear},
		{"policer-receiver.pcap.gz", "or a policer", diagnosis.NotClear},
		{"deep-queue-receiver.pcap.gz", "from 44 ms to 594 ms", diagnosis.Bufferbloat},
		{"queue-like-policer-sender.pcap.gz", "or a policer", diagnosis.NotClear},
		{"queue-like-chance-receiver.pcap.gz", "a queue too short to show", diagnosis.NotClear},
		{"policer-no-line-receiver.pcap.gz", "came by at once", diagnosis.Policer},
		{"one-delayed-ack.pcap.gz", "once data that were ready waited", diagnosis.DelayedAcks},
		{"tls13-first-96-bytes.pcap.gz", "beyond the round trips that it needs", diagnosis.TLS},
	} {
		f, err := os.Open("testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Analyze(context.Background(), f, Options{})
		f.Close()
		if err != nil || len(a.Connections) != 1 {
			t.Fatal(err, len(a.Connections))
		}
		if d := diagnosis.Diagnose(a.Connections[0].Evidence()); d.Cause != c.want || strings.Contains(d.Sentence, "TLS 1.2") || !strings.Contains(d.Sentence, c.says) {
			t.Errorf("%s: %q, want %q and %q: %s", c.file, d.Cause, c.want, c.says, d.Sentence)
		}
	}
}
