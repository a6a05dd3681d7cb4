package diagnosis

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/dist"
)

func TestValue(t *testing.T) {
	var unknown Value
	if unknown.Known() || unknown.Over(-1) || unknown.Under(1) || unknown.Or(7) != 7 || Is(math.NaN()).Known() || Is(math.Inf(1)).Known() {
		t.Error("what is unknown is taken for known")
	}
	v := Is(2)
	if x, ok := v.Get(); x != 2 || !ok || !v.Over(1) || v.Over(2) || !v.Under(3) || v.Or(7) != 2 {
		t.Error(v)
	}
	for _, v := range []Value{unknown, v, Is(0)} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		back := Is(9)
		if err := json.Unmarshal(b, &back); err != nil || back != v {
			t.Errorf("%s is %v, want %v", b, back, v)
		}
	}
}

// bulk is a transfer of 1 MB over 50 ms that nothing limits but what f says.
func bulk(f func(*Evidence)) Evidence {
	e := Evidence{
		Side: AtSender, Connect: Is(.05), Wait: Is(.05), Transfer: Is(2), Duration: Is(2.05), DNS: Is(0), TLS: Is(0),
		Bytes: Is(1e6), MSS: Is(1448), Segments: Is(700), MinRTT: Is(.05), RTT: Is(.052), MaxRTT: Is(.055),
		Idle: Is(0), WindowFull: Is(0), BufferFull: Is(0), CwndFull: Is(1), HeldBack: Is(0), Recovering: Is(0), TimedOut: Is(0),
		InitialWindow: Is(10), SlowStart: Is(.1), Window: Is(500e3), LeastWindow: Is(64e3), Flight: Is(50e3),
		Resent: Is(0), Spurious: Is(0), Timeouts: Is(0), LossEvents: Is(0), Reordered: Is(0), Plateau: Is(4e6), PlateauSpread: Is(.3),
		AckWaits: Is(0), AckWait: Is(0),
	}
	f(&e)
	return e
}

// Each cause is told by its own signs, with the figures in the sentence.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name string
		e    Evidence
		want Cause
		says string
	}{
		{"window", bulk(func(e *Evidence) { e.WindowFull, e.CwndFull, e.Window = Is(.9), Is(.1), Is(64e3) }), ReceiveWindow,
			"64 KB in flight on a 50 ms path cannot carry more than 10 Mbit/s"},
		{"window that closes", bulk(func(e *Evidence) { e.WindowFull, e.LeastWindow = Is(.9), Is(0) }), ReceiveWindow, "does not read"},
		{"buffer", bulk(func(e *Evidence) { e.BufferFull, e.CwndFull, e.Flight = Is(.8), Is(.1), Is(80e3) }), SendBuffer, "80 KB in flight"},
		{"application", bulk(func(e *Evidence) { e.Idle, e.CwndFull = Is(.7), Is(.1) }), Application, "written nothing"},
		{"loss", bulk(func(e *Evidence) { e.Resent, e.LossEvents, e.LossRTT = Is(14), Is(12), Is(.051) }), Loss, "14 of 700 segments were lost (2 %)"},
		{"loss that may be policing", bulk(func(e *Evidence) { e.Resent, e.LossEvents, e.LossRTT, e.PolicedFit = Is(20), Is(12), Is(.051), Is(.5) }), NotClear, "chance loses them, a short queue overflows or a policer drops them"},
		{"policer", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.PolicedFit, e.PolicedRate = Is(60), Is(6), Is(.051), Is(.9), Is(4e6)
		}), Policer, "4.0 Mbit/s"},
		{"a short queue", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight = Is(32), Is(6), Is(.052), Is(.81)
		}), NotClear, "a queue too short to show in the round trip"},
		{"a short queue that a bucket explains", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate = Is(32), Is(6), Is(.052), Is(.81), Is(.88), Is(4e6)
		}), NotClear, "a policer"},
		{"a short queue at a low rate, in clumps", bulk(func(e *Evidence) {
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit = Is(1218), Is(36), Is(15), Is(.055), Is(.65), Is(.2)
		}), NotClear, "a queue too short to show"},
		{"losses by chance when much happened to be in flight", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight = Is(8), Is(8), Is(.051), Is(.73)
		}), Loss, ""},
		{"a short queue, from a capture, that looks like a policer", bulk(func(e *Evidence) { // one of 10 KB before 10 Mbit/s
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate = Is(1180), Is(18), Is(4), Is(.0513), Is(.63), Is(.98), Is(6.4e6)
			e.LossFull, e.LossTimes, e.LossRate, e.LossRoom, e.LossPassed = Is(.998), Is(5), Is(8.7e6), Is(11e3), Is(0)
		}), NotClear, "when more than 11 KB above 8.7 Mbit/s had been sent"},
		{"a policer, from a capture, that a line does not fit", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate = Is(93), Is(3), Is(.05), Is(.73), Is(.03), Is(7e6)
			e.LossFull, e.LossTimes, e.LossRate, e.LossRoom, e.LossPassed = Is(.81), Is(8), Is(4.4e6), Is(56e3), Is(56e3)
		}), Policer, "4.4 Mbit/s have been used up and not otherwise, and of what was sent faster up to 56 KB came by at once, where a queue would have delayed it by 102 ms"},
		{"more came by at once than the bucket holds", bulk(func(e *Evidence) { // bursts of errors
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit = Is(477), Is(75), Is(11), Is(.051), Is(.57), Is(.19)
			e.LossFull, e.LossTimes, e.LossRate, e.LossRoom, e.LossPassed = Is(.75), Is(12), Is(1.06e6), Is(6.8e3), Is(12.8e3)
		}), NotClear, ""},
		{"the initial window, which always comes by", bulk(func(e *Evidence) { // bursts of errors
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit = Is(415), Is(43), Is(5), Is(.05), Is(.54), Is(.3)
			e.LossFull, e.LossTimes, e.LossRate, e.LossRoom, e.LossPassed = Is(.85), Is(5), Is(3.4e6), Is(14e3), Is(12e3)
		}), NotClear, ""},
		{"one by one, as no bucket drops", bulk(func(e *Evidence) {
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate = Is(395), Is(23), Is(16), Is(.054), Is(.65), Is(.73), Is(1.3e6)
		}), NotClear, ""},
		{"no bucket's worth came by", bulk(func(e *Evidence) { // bbr before a short queue
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate, e.LossPassed = Is(1483), Is(299), Is(5), Is(.054), Is(.8), Is(.75), Is(10.8e6), Is(5e3)
		}), NotClear, "or a policer"},
		{"a bucket's worth came by", bulk(func(e *Evidence) {
			e.Segments, e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate, e.LossPassed = Is(1483), Is(299), Is(5), Is(.054), Is(.8), Is(.75), Is(10.8e6), Is(50e3)
		}), Policer, "11 Mbit/s"},
		{"a queue that had let through as much, later", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.MaxRTT = Is(93), Is(3), Is(.05), Is(.73), Is(.15)
			e.LossFull, e.LossTimes, e.LossRate, e.LossRoom, e.LossPassed = Is(.81), Is(8), Is(4.4e6), Is(56e3), Is(56e3)
		}), NotClear, "or a policer"},
		{"chance, from a capture, that a bucket explains", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate = Is(18), Is(16), Is(.051), Is(.5), Is(.57), Is(4e6)
			e.LossFull, e.LossTimes, e.LossRate, e.LossRoom, e.LossPassed = Is(.56), Is(16), Is(3.8e6), Is(4e3), Is(2.6e3)
		}), Loss, "18 of 700"},
		{"losses that a receiver sees", bulk(func(e *Evidence) {
			e.Side, e.Resent, e.LossEvents, e.OutOfOrder, e.CwndFull = AtReceiver, Value{}, Is(6), Is(90), Value{}
		}), Loss, "a short queue has no room for them or a policer drops them cannot be told from this end"},
		{"silences behind a queue", bulk(func(e *Evidence) {
			e.Side, e.Resent, e.Idle, e.CwndFull, e.LossEvents, e.Silent, e.Silences, e.RTT = AtReceiver, Value{}, Value{}, Value{}, Is(0), Is(.5), Is(10), Is(.4)
		}), Bufferbloat, "from 50 ms to 400 ms"},
		{"silences of a program", bulk(func(e *Evidence) {
			e.Side, e.Resent, e.Idle, e.CwndFull, e.LossEvents, e.Silent, e.Silences, e.RTT = AtReceiver, Value{}, Value{}, Value{}, Is(0), Is(.9), Is(10), Is(.15)
		}), Application, "10 times for longer"},
		{"chance that a bucket explains", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.LossFlight, e.PolicedFit, e.PolicedRate = Is(15), Is(14), Is(.051), Is(.5), Is(.8), Is(4e6)
		}), NotClear, ""},
		{"loss with a full queue", bulk(func(e *Evidence) {
			e.Resent, e.LossEvents, e.LossRTT, e.RTT = Is(60), Is(3), Is(.3), Is(.28)
		}), Bufferbloat, "from 50 ms to 280 ms"},
		{"short queue", bulk(func(e *Evidence) { e.RTT = Is(.085) }), Bottleneck, "4.0 Mbit/s"},
		{"a queue that was never full", bulk(func(e *Evidence) { e.MinRTT, e.RTT, e.MaxRTT = Is(.032), Is(.072), Is(.103) }), Bufferbloat, "from 32 ms to 72 ms"},
		{"the same, and full", bulk(func(e *Evidence) {
			e.MinRTT, e.RTT, e.MaxRTT, e.Resent, e.LossEvents, e.LossRTT = Is(.032), Is(.072), Is(.103), Is(4), Is(1), Is(.09)
		}), Bottleneck, "4.0 Mbit/s"},
		{"a window behind a full queue", bulk(func(e *Evidence) { e.WindowFull, e.RTT = Is(.9), Is(.4) }), Bufferbloat, ""},
		{"reordering", bulk(func(e *Evidence) { e.Resent, e.Spurious, e.LossEvents, e.Reordered = Is(20), Is(19), Is(15), Is(3) }), Reordering, "had 19 of them already"},
		{"reordering, seen by its kernel only", bulk(func(e *Evidence) { e.Resent, e.Spurious, e.LossEvents = Is(11), Is(11), Is(8) }), Reordering, "had 11 of them"},
		{"a timer too hasty for a deep queue", bulk(func(e *Evidence) {
			e.Resent, e.Spurious, e.OutOfOrder, e.RTT, e.LossRTT = Is(3), Is(3), Is(0), Is(.594), Is(2)
		}), Bufferbloat, "from 50 ms to 594 ms"},
		{"losses at a long round trip", bulk(func(e *Evidence) { e.Resent, e.LossEvents, e.LossRTT = Is(4), Is(2), Is(.108) }), NotClear, "where the least is 50 ms; "},
		{"delayed acks", bulk(func(e *Evidence) { e.AckWaits, e.AckWait, e.AckDelay, e.CwndFull = Is(20), Is(.6), Is(.04), Is(.1) }), DelayedAcks, "held back for 40 ms"},
		{"initial window", bulk(func(e *Evidence) {
			e.Bytes, e.Transfer, e.Duration, e.SlowStart, e.InitialWindow = Is(50e3), Is(.25), Is(.3), Is(1), Is(1)
		}), InitialWindow, "6 round trips of 50 ms instead of 3"},
		{"slow start", bulk(func(e *Evidence) { e.Bytes, e.Transfer, e.Duration, e.SlowStart = Is(200e3), Is(.2), Is(.25), Is(1) }), SlowStart, "200 KB take 4 round trips"},
		{"round trips alone", bulk(func(e *Evidence) {
			e.TLS, e.Bytes, e.Transfer, e.Duration, e.SlowStart = Is(.05), Is(3000), Is(.001), Is(.05), Is(1)
		}), Distance, "round trips of 50 ms"},
		{"dns", bulk(func(e *Evidence) { e.DNS = Is(5) }), DNS, "5.0 s"},
		{"tls", bulk(func(e *Evidence) { e.TLS, e.TLSRounds = Is(5), Is(2) }), TLS, "TLS 1.2"},
		{"thinking", bulk(func(e *Evidence) { e.Wait = Is(5) }), ServerThinking, "5.0 s"},
		{"as long as a delayed ack", bulk(func(e *Evidence) {
			e.Wait, e.Transfer, e.Duration, e.Connect, e.MinRTT, e.RTT = Is(.042), Is(.001), Is(.001), Is(.001), Is(.001), Is(.001)
		}), ServerThinking, "Nagle's algorithm"},
		{"one delayed ack", bulk(func(e *Evidence) { e.AckWaits, e.AckWait, e.AckDelay, e.CwndFull = Is(1), Is(.6), Is(.04), Is(.1) }), DelayedAcks, "once data"},
		{"one wait of no usual length", bulk(func(e *Evidence) { e.AckWaits, e.AckWait, e.AckDelay, e.CwndFull = Is(1), Is(.6), Is(.09), Is(.1) }), NotClear, ""},
		{"a lost SYN", bulk(func(e *Evidence) { e.Connect, e.Transfer, e.Duration = Is(3.05), Is(.1), Is(.1) }), Loss, ""},
		{"two of one size", bulk(func(e *Evidence) { e.DNS, e.WindowFull = Is(2), Is(.95) }), NotClear, "receive window"},
		{"nothing at all", Evidence{}, NotClear, "nothing was transferred"},
		{"a receiver that sees nothing amiss", Evidence{Side: AtReceiver, Duration: Is(2), Transfer: Is(2), MinRTT: Is(.05), RTT: Is(.05), Segments: Is(500), SlowStart: Is(.05)}, NotClear, "known at the sender"},
		{"an upload's server", Evidence{Side: AtSender, Upload: true, Connect: Is(.05), Send: Is(.1), Wait: Is(2), Transfer: Is(0), Duration: Is(.3), MinRTT: Is(.05)}, ServerThinking, "1.8 s"},
	} {
		d := Diagnose(c.e)
		if d.Cause != c.want || !strings.Contains(d.Sentence+" "+d.Advice, c.says) {
			t.Errorf("%s: %q, %.2f, want %q: %s", c.name, d.Cause, d.Share, c.want, d.Sentence)
		}
		if d.Cause != NotClear && (d.Advice == "" || d.Confidence <= 0 || d.Confidence > 1) {
			t.Errorf("%s: confidence %g, advice %q", c.name, d.Confidence, d.Advice)
		}
	}
}

// Whatever is known and however absurd, shares are shares, what is named takes the most, and nothing panics.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Evidence
		e.Side = rapid.SampledFrom([]Side{AtSender, AtReceiver, AtBoth, ""}).Draw(t, "side")
		e.Upload = rapid.Bool().Draw(t, "upload")
		v := reflect.ValueOf(&e).Elem()
		for i := range v.NumField() {
			if v.Type().Field(i).Type == reflect.TypeFor[Value]() && rapid.Bool().Draw(t, "known") {
				x := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(0, 1e9), rapid.Float64()).Draw(t, "value")
				v.Field(i).Set(reflect.ValueOf(Is(x)))
			}
		}
		sum := 0.0
		for _, p := range Shares(e) {
			if !(p.Share >= 0 && p.Share <= 1) || p.Sentence == "" {
				t.Fatalf("%+v", p)
			}
			sum += p.Share
		}
		d := Diagnose(e)
		if d.Sentence == "" || d.Cause == "" || !(d.Confidence >= 0 && d.Confidence <= 1) {
			t.Fatalf("%+v", d)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatal(err)
		}
		for _, o := range d.Others {
			if o.Cause == d.Cause {
				t.Fatalf("%q is beside itself", o.Cause)
			}
		}
	})
}

// By its definition it counts pairs.
func TestGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flights := rapid.SliceOfN(rapid.IntRange(1, 8), 2, 30).Draw(t, "flights")
		var all []Sent
		var lost, arrived []int
		for i, f := range flights {
			s := Sent{Flight: float64(f)}
			if i%3 == 0 {
				s.Lost = 1
				lost = append(lost, f)
			} else {
				s.Arrived = 1
				arrived = append(arrived, f)
			}
			all = append(all, s)
		}
		pairs := 0.0
		for _, l := range lost {
			for _, a := range arrived {
				switch {
				case l > a:
					pairs++
				case l == a:
					pairs += .5
				}
			}
		}
		if got, want := Growth(all).Or(-1), pairs/float64(len(lost)*len(arrived)); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%g, want %g", got, want)
		}
	})
	if Growth(nil).Known() || Growth([]Sent{{1, 5, 0}}).Known() || Growth([]Sent{{1, 0, 5}}).Known() {
		t.Error("known of nothing lost, or nothing arrived")
	}
}

// Of an even number the median is between the middle two.
func TestMedianOfTwo(t *testing.T) {
	if m := median([]float64{4, 1, 3, 2}); m != Is(2.5) {
		t.Error(m)
	}
}

func TestMedianOfEvidence(t *testing.T) {
	all := []Evidence{{Side: AtReceiver, DNS: Is(1), RTT: Is(5)}, {DNS: Is(3)}, {DNS: Is(2)}}
	m := Median(all)
	if m.Side != AtReceiver || m.DNS != Is(2) || m.RTT.Known() || m.TLS.Known() {
		t.Errorf("%+v", m)
	}
	if !reflect.DeepEqual(Median(nil), Evidence{}) {
		t.Error("the median of nothing")
	}
}

// A simulated policer is told from losses by chance: sender and network are a few lines each, independent of any kernel.
func TestTokenBucket(t *testing.T) {
	const n = 200
	policed, chance := 0, 0
	for seed := range uint64(n) {
		luck := dist.NewStream(seed, "token bucket")
		if rate, fit := TokenBucket(simulated(luck, 500e3, 0)); fit.Over(policedFit) {
			policed++
			if r := rate.Or(0); r < 3.8e6 || r > 4.2e6 {
				t.Errorf("seed %d: %g bit/s, want 4e6", seed, r)
			}
		}
		if _, fit := TokenBucket(simulated(luck, 0, .02)); fit.Over(policedFit) {
			chance++
		}
	}
	t.Logf("of %d each: %d policed and %d by chance look policed", n, policed, chance)
	if policed < n*9/10 || chance > n/10 {
		t.Errorf("of %d each: %d policed and %d by chance look policed", n, policed, chance)
	}
	if _, fit := TokenBucket(nil); fit.Known() {
		t.Error("nothing has a fit")
	}
	if _, fit := TokenBucket([]Progress{{0, 0, 0}, {1, 1e6, 1}, {2, 2e6, 2}}); fit.Known() {
		t.Error("two losses have a fit")
	}
}

// simulated is a sender that adds a segment to its window each round trip of 40 ms and halves it when something was lost,
// through a bucket that fills at rate bytes/s, or a path that loses a share.
func simulated(luck *dist.Stream, rate, loss float64) []Progress {
	const rtt, bucket = .04, 60e3
	window, tokens, at := 10.0, bucket, 0.0
	bytes, lost := 0.0, 0.0
	var course []Progress
	slow := true
	for range 120 {
		hit := false
		for range int(window) {
			at += rtt / math.Floor(window)
			tokens = min(tokens+rate*rtt/math.Floor(window), bucket)
			switch {
			case loss > 0 && luck.Float64() < loss, rate > 0 && tokens < segment:
				lost++
				hit = true
			default:
				tokens -= segment
				bytes += segment
			}
			course = append(course, Progress{at, bytes, lost})
		}
		switch {
		case hit:
			window, slow = max(window/2, 2), false
		case slow:
			window *= 2
		default:
			window++
		}
		window *= .97 + .06*luck.Float64()
	}
	return course
}
