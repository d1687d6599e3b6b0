package kubernetes_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kubernetes/kubetest"
)

// BenchmarkCluster tells how long it takes to make a cluster of three masters and some workers, where a script takes 5 s on each node: 3 s to
// prepare it and 2 s to join. Steps are repeated as often as the engine does at least.
func BenchmarkCluster(b *testing.B) {
	const prepare, join, masters = 3 * time.Second, 2 * time.Second, 3
	scripts := prepare + masters*join + join // what nobody can do at once
	taken := map[int]time.Duration{}         // by number of workers
	for _, workers := range []int{1, 2, 8, 32} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				bed := newBed(b, setting{masters: masters, workers: workers, world: kubetest.Options{PrepareTime: prepare, JoinTime: join}})
				bed.Pause = 200 * time.Millisecond
				bed.Instantiate()
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				bed.Must(mgmtdriver.InstantiateEnd)
				took := time.Since(began)
				runtime.GC()
				runtime.ReadMemStats(&after)
				taken[workers] = took
				nodes := float64(masters + workers)
				b.ReportMetric(took.Seconds(), "s/cluster")
				for _, fewer := range []int{1, 2} {
					if first, ok := taken[fewer]; ok {
						b.ReportMetric(took.Seconds()/first.Seconds(), fmt.Sprintf("x/%d-workers", fewer))
					}
				}
				b.ReportMetric(float64((took-scripts).Milliseconds())/nodes, "ms-beside-scripts/node")
				b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/nodes/1024, "KiB-kept/node") // with what plays the node
			}
		})
	}
}
