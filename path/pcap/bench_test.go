package pcap

import (
	"bytes"
	"context"
	"testing"
	"time"
)

func BenchmarkAnalyze(b *testing.B) {
	m := model{segments: 5000, mss: 1400, delay: 10 * time.Millisecond, stamps: true, ids: true, window: 64, lose: func(k, times int) bool { return k%97 == 0 && times == 0 }}
	packets := m.run()
	var file bytes.Buffer
	writeCapture(b, &file, packets)
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(context.Background(), bytes.NewReader(file.Bytes()), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(packets)), "ns/packet")
}
