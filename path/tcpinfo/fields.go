package tcpinfo

import (
	"encoding/binary"
	"time"
)

// field is one of struct tcp_info: where it stands, and where it goes.
type field struct {
	name     string // that of Info
	kernel   string // tcpi_ and this
	at, size int
	set      func(*Info, uint64)
}

// fields are those that later kernels have added one after the other, so that the length of the answer tells
// which are known.
var fields = []field{
	{"State", "state", 0, 1, func(i *Info, x uint64) { i.State = State(x) }},
	{"Congestion", "ca_state", 1, 1, func(i *Info, x uint64) { i.Congestion = CongestionState(x) }},
	{"Retransmits", "retransmits", 2, 1, whole(func(i *Info) *int { return &i.Retransmits })},
	{"Probes", "probes", 3, 1, whole(func(i *Info) *int { return &i.Probes })},
	{"Backoff", "backoff", 4, 1, whole(func(i *Info) *int { return &i.Backoff })},
	{"Options", "options", 5, 1, func(i *Info, x uint64) { i.Options = Options(x) }},
	{"SendWindowScale", "snd_wscale", 6, 1, func(i *Info, x uint64) { i.SendWindowScale = bits(x, 0, 4) }},
	{"ReceiveWindowScale", "rcv_wscale", 6, 1, func(i *Info, x uint64) { i.ReceiveWindowScale = bits(x, 4, 4) }},
	{"AppLimited", "delivery_rate_app_limited", 7, 1, func(i *Info, x uint64) { i.AppLimited = bits(x, 0, 1) != 0 }},
	{"FastOpenFailed", "fastopen_client_fail", 7, 1, func(i *Info, x uint64) { i.FastOpenFailed = bits(x, 1, 2) != 0 }},
	{"RTO", "rto", 8, 4, in(time.Microsecond, func(i *Info) *time.Duration { return &i.RTO })},
	{"ATO", "ato", 12, 4, in(time.Microsecond, func(i *Info) *time.Duration { return &i.ATO })},
	{"MSS", "snd_mss", 16, 4, whole(func(i *Info) *int { return &i.MSS })},
	{"ReceiveMSS", "rcv_mss", 20, 4, whole(func(i *Info) *int { return &i.ReceiveMSS })},
	{"Unacked", "unacked", 24, 4, whole(func(i *Info) *int { return &i.Unacked })},
	{"Sacked", "sacked", 28, 4, whole(func(i *Info) *int { return &i.Sacked })},
	{"Lost", "lost", 32, 4, whole(func(i *Info) *int { return &i.Lost })},
	{"Retrans", "retrans", 36, 4, whole(func(i *Info) *int { return &i.Retrans })},
	// tcpi_fackets and tcpi_last_ack_sent are 0 in every kernel that is still kept.
	{"SinceDataSent", "last_data_sent", 44, 4, in(time.Millisecond, func(i *Info) *time.Duration { return &i.SinceDataSent })},
	{"SinceDataReceived", "last_data_recv", 52, 4, in(time.Millisecond, func(i *Info) *time.Duration { return &i.SinceDataReceived })},
	{"SinceAckReceived", "last_ack_recv", 56, 4, in(time.Millisecond, func(i *Info) *time.Duration { return &i.SinceAckReceived })},
	{"PathMTU", "pmtu", 60, 4, whole(func(i *Info) *int { return &i.PathMTU })},
	{"ReceiveThreshold", "rcv_ssthresh", 64, 4, count(func(i *Info) *int64 { return &i.ReceiveThreshold })},
	{"RTT", "rtt", 68, 4, in(time.Microsecond, func(i *Info) *time.Duration { return &i.RTT })},
	{"RTTVar", "rttvar", 72, 4, in(time.Microsecond, func(i *Info) *time.Duration { return &i.RTTVar })},
	{"SlowStartThreshold", "snd_ssthresh", 76, 4, whole(func(i *Info) *int { return &i.SlowStartThreshold })},
	{"CongestionWindow", "snd_cwnd", 80, 4, whole(func(i *Info) *int { return &i.CongestionWindow })},
	{"AdvertisedMSS", "advmss", 84, 4, whole(func(i *Info) *int { return &i.AdvertisedMSS })},
	{"Reordering", "reordering", 88, 4, whole(func(i *Info) *int { return &i.Reordering })},
	{"ReceiveRTT", "rcv_rtt", 92, 4, in(time.Microsecond, func(i *Info) *time.Duration { return &i.ReceiveRTT })},
	{"ReceiveSpace", "rcv_space", 96, 4, count(func(i *Info) *int64 { return &i.ReceiveSpace })},
	{"TotalRetrans", "total_retrans", 100, 4, count(func(i *Info) *int64 { return &i.TotalRetrans })},
	{"PacingRate", "pacing_rate", 104, 8, rate(func(i *Info) *float64 { return &i.PacingRate })},
	{"MaxPacingRate", "max_pacing_rate", 112, 8, rate(func(i *Info) *float64 { return &i.MaxPacingRate })},
	{"BytesAcked", "bytes_acked", 120, 8, count(func(i *Info) *int64 { return &i.BytesAcked })},
	{"BytesReceived", "bytes_received", 128, 8, count(func(i *Info) *int64 { return &i.BytesReceived })},
	{"SegmentsOut", "segs_out", 136, 4, count(func(i *Info) *int64 { return &i.SegmentsOut })},
	{"SegmentsIn", "segs_in", 140, 4, count(func(i *Info) *int64 { return &i.SegmentsIn })},
	{"NotSent", "notsent_bytes", 144, 4, count(func(i *Info) *int64 { return &i.NotSent })},
	{"MinRTT", "min_rtt", 148, 4, func(i *Info, x uint64) {
		if x != 1<<32-1 { // none yet
			i.MinRTT = time.Duration(x) * time.Microsecond
		}
	}},
	{"DataSegmentsIn", "data_segs_in", 152, 4, count(func(i *Info) *int64 { return &i.DataSegmentsIn })},
	{"DataSegmentsOut", "data_segs_out", 156, 4, count(func(i *Info) *int64 { return &i.DataSegmentsOut })},
	{"DeliveryRate", "delivery_rate", 160, 8, rate(func(i *Info) *float64 { return &i.DeliveryRate })},
	{"BusyTime", "busy_time", 168, 8, in(time.Microsecond, func(i *Info) *time.Duration { return &i.BusyTime })},
	{"WindowLimited", "rwnd_limited", 176, 8, in(time.Microsecond, func(i *Info) *time.Duration { return &i.WindowLimited })},
	{"BufferLimited", "sndbuf_limited", 184, 8, in(time.Microsecond, func(i *Info) *time.Duration { return &i.BufferLimited })},
	{"Delivered", "delivered", 192, 4, count(func(i *Info) *int64 { return &i.Delivered })},
	{"DeliveredCE", "delivered_ce", 196, 4, count(func(i *Info) *int64 { return &i.DeliveredCE })},
	{"BytesSent", "bytes_sent", 200, 8, count(func(i *Info) *int64 { return &i.BytesSent })},
	{"BytesRetrans", "bytes_retrans", 208, 8, count(func(i *Info) *int64 { return &i.BytesRetrans })},
	{"DSACKDups", "dsack_dups", 216, 4, count(func(i *Info) *int64 { return &i.DSACKDups })},
	{"ReorderSeen", "reord_seen", 220, 4, count(func(i *Info) *int64 { return &i.ReorderSeen })},
	{"OutOfOrder", "rcv_ooopack", 224, 4, count(func(i *Info) *int64 { return &i.OutOfOrder })},
	{"SendWindow", "snd_wnd", 228, 4, count(func(i *Info) *int64 { return &i.SendWindow })},
	{"ReceiveWindow", "rcv_wnd", 232, 4, count(func(i *Info) *int64 { return &i.ReceiveWindow })},
	{"Rehashes", "rehash", 236, 4, count(func(i *Info) *int64 { return &i.Rehashes })},
	{"Timeouts", "total_rto", 240, 2, count(func(i *Info) *int64 { return &i.Timeouts })},
	{"TimeoutRecoveries", "total_rto_recoveries", 242, 2, count(func(i *Info) *int64 { return &i.TimeoutRecoveries })},
	{"TimeoutTime", "total_rto_time", 244, 4, in(time.Millisecond, func(i *Info) *time.Duration { return &i.TimeoutTime })},
	{"ReceivedCE", "received_ce", 248, 4, count(func(i *Info) *int64 { return &i.ReceivedCE })},
}

func whole(to func(*Info) *int) func(*Info, uint64) {
	return func(i *Info, x uint64) { *to(i) = int(x) }
}

func count(to func(*Info) *int64) func(*Info, uint64) {
	return func(i *Info, x uint64) { *to(i) = int64(x) }
}

func in(unit time.Duration, to func(*Info) *time.Duration) func(*Info, uint64) {
	return func(i *Info, x uint64) { *to(i) = time.Duration(x) * unit }
}

// rate turns bytes a second into bit/s; all ones are no bound.
func rate(to func(*Info) *float64) func(*Info, uint64) {
	return func(i *Info, x uint64) {
		if x != 1<<64-1 {
			*to(i) = float64(x) * 8
		}
	}
}

var bigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// bits returns n bits of a byte, from the one that a C compiler fills first.
func bits(x uint64, from, n int) int {
	if bigEndian {
		from = 8 - from - n
	}
	return int(x) >> from & (1<<n - 1)
}

// parse reads what the kernel has written; fields that it does not reach stay zero.
func parse(b []byte) Info {
	i := Info{Size: len(b)}
	for _, f := range fields {
		if f.at+f.size > len(b) {
			break
		}
		switch p := b[f.at:]; f.size {
		case 1:
			f.set(&i, uint64(p[0]))
		case 2:
			f.set(&i, uint64(binary.NativeEndian.Uint16(p)))
		case 4:
			f.set(&i, uint64(binary.NativeEndian.Uint32(p)))
		case 8:
			f.set(&i, binary.NativeEndian.Uint64(p))
		}
	}
	return i
}

// Known says whether the kernel has filled in a field, by its name in [Info], such as
// "ReceiveWindow" (since Linux 6.2). What older kernels do not know is zero.
func (i *Info) Known(name string) bool {
	for _, f := range fields {
		if f.name == name {
			return f.at+f.size <= i.Size
		}
	}
	return false
}

// Missing names the fields that the kernel did not fill in, because it is older than they are.
func (i *Info) Missing() []string {
	var names []string
	for _, f := range fields {
		if f.at+f.size > i.Size {
			names = append(names, f.name)
		}
	}
	return names
}
