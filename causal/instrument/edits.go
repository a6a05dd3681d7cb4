package instrument

// An edit replaces text that must occur exactly once in a file of the standard
// library. A Go version where it does not is refused by name.
type edit struct {
	file string
	old  string
	new  string
}

const pay = "if !headwayIdle {\n\t\theadwayPay()\n\t}\n\t"

// from and to follow the heads of functions that receive or send a packet; addr is their name for the other's address. What was
// received counts when the function has let go of the socket.
func from(addr string) string {
	return "\tif !headwayIdle {\n\t\tdefer func() { headwayFrom(fd.Sysfd, " + addr + ".Addr[:], " + addr + ".Port) }()\n\t}\n"
}

func to(addr string) string {
	return "\tif !headwayIdle {\n\t\theadwayTo(fd.Sysfd, " + addr + ".Addr[:], " + addr + ".Port)\n\t}\n"
}

// An importing package reaches the runtime through these.
const hookDecls = `
//go:linkname headwayIdle runtime.headwayIdle
var headwayIdle bool

//go:linkname headwayPay runtime.headwayPay
func headwayPay()
`

// edits are the changes to the standard library, by package.
var edits = map[string][]edit{
	"runtime": {
		// The goroutine's own clock and site. Where it is goes beside what every function looks at.
		{"runtime2.go", "\tsched     gobuf\n\tsyscallsp", "\theadwayIn *headwayMarks\n\tsched     gobuf\n\tsyscallsp"},
		{"runtime2.go", "\tgcAssistBytes int64\n\n\t// valgrindStackID", "\tgcAssistBytes int64\n\n\theadwayCount int64\n\theadwayTime int64\n\theadwayWait int64\n\theadwayWaited int64\n\theadwayGone uint32\n\theadwayFree bool\n\n\t// valgrindStackID"},

		// What a thread's P has for an account, beside the P.
		{"runtime2.go", "\tp puintptr\n", "\tp puintptr\n\theadwayOf puintptr\n\theadway *headwayP\n"},

		// Goroutines start, stop, become ready.
		{"proc.go", "\tif !inheritTime {\n\t\tmp.p.ptr().schedtick++\n\t}\n", "\tif !inheritTime {\n\t\tmp.p.ptr().schedtick++\n\t}\n\tif !headwayIdle {\n\t\theadwayRun(gp, mp.p.ptr())\n\t}\n"},
		// Where a goroutine parks, which is often, the rest of dropg is still inlined.
		{"proc.go", "func dropg() {\n\tgp := getg()\n", "func dropg() {\n\tif !headwayIdle {\n\t\theadwayStop()\n\t}\n\theadwayDropg()\n}\n\nfunc headwayDropg() {\n\tgp := getg()\n"},
		{"proc.go", "\tdropg()\n\n\tif fn := mp.waitunlockf; fn != nil {\n", "\tif !headwayIdle {\n\t\theadwayStop()\n\t}\n\theadwayDropg()\n\n\tif fn := mp.waitunlockf; fn != nil {\n"},
		{"proc.go", "\tcasgstatus(gp, _Gwaiting, _Grunnable)\n\tif trace.ok() {\n\t\ttrace.GoUnpark(gp, traceskip)\n", "\tif !headwayIdle {\n\t\theadwayReady(gp)\n\t}\n\tcasgstatus(gp, _Gwaiting, _Grunnable)\n\tif trace.ok() {\n\t\ttrace.GoUnpark(gp, traceskip)\n"},
		// The network poller tags those that it wakes itself.
		{"proc.go", "\t\ttail = gp\n\t\tcasgstatus(gp, _Gwaiting, _Grunnable)\n", "\t\ttail = gp\n\t\tif !headwayIdle && gp.waitreason != waitReasonIOWait {\n\t\t\theadwayReady(gp)\n\t\t}\n\t\tcasgstatus(gp, _Gwaiting, _Grunnable)\n"},
		{"proc.go", "\tnewg.runningCleanups.Store(false)\n", "\tnewg.runningCleanups.Store(false)\n\tif headwayFixed.base != 0 {\n\t\theadwaySpawn(newg)\n\t}\n"},
		{"proc.go", "func newproc(fn *funcval) {\n\tgp := getg()\n\tpc := sys.GetCallerPC()\n", "func newproc(fn *funcval) {\n\tgp := getg()\n\tpc := sys.GetCallerPC()\n\tif !headwayIdle {\n\t\theadwayPay()\n\t}\n"},
		// Who has no effects for others to see pays when the scheduler takes the processor away.
		{"proc.go", "func gopreempt_m(gp *g) {\n", "func gopreempt_m(gp *g) {\n\tif !headwayIdle && headwayMine(getg().m).mayOwe() {\n\t\theadwayPayLoop(nil)\n\t}\n"},
		// The end of marking stops everybody: it comes no sooner than the work before it is paid for.
		{"mgc.go", "func gcMarkDone() {\n\t", "func gcMarkDone() {\n\t" + pay},
		// Who spins until another goroutine has done something pays meanwhile, not when it has seen it.
		{"proc.go", "func Gosched() {\n\t", "func Gosched() {\n\t" + pay},
		{"coro.go", "\tsetGNoWB(&mp.curg, gnext)\n", "\tif !headwayIdle {\n\t\theadwaySwitch(gp, gnext, mp.p.ptr())\n\t}\n\tsetGNoWB(&mp.curg, gnext)\n"},

		{"proc.go", "\t// local runq\n\tif gp, inheritTime := runqget(pp); gp != nil {\n\t\treturn gp, inheritTime, false\n\t}\n", "\t// local runq\n\tif gp, inheritTime := runqget(pp); gp != nil {\n\t\treturn gp, inheritTime, false\n\t}\n\tif !headwayIdle {\n\t\theadwayLooks(pp)\n\t}\n"},
		{"proc.go", "func acquirepNoTrace(pp *p) {\n", "func acquirepNoTrace(pp *p) {\n\tif !headwayIdle {\n\t\theadwayStale(pp)\n\t}\n"},
		{"proc.go", "func procresize(nprocs int32) *p {\n", "func procresize(nprocs int32) *p {\n\tif headwayFixed.base != 0 {\n\t\theadwayGrow(uint32(nprocs))\n\t}\n"},
		// The P of who asked may be among those that go.
		{"proc.go", "\t\t\tgp.m.p.ptr().m = 0\n", "\t\t\tif !headwayIdle {\n\t\t\t\theadwayStop()\n\t\t\t}\n\t\t\tgp.m.p.ptr().m = 0\n"},
		{"proc.go", "\t\tpp.status = _Pidle\n\t\tacquirep(pp)\n", "\t\tpp.status = _Pidle\n\t\tacquirep(pp)\n\t\tif !headwayIdle {\n\t\t\theadwayRun(gp.m.curg, pp)\n\t\t}\n"},

		// A thief waits a little before it takes what its victim may be about to run.
		{"proc.go", "\t\t\t\t\t\t\t\t\tusleep(3)\n", "\t\t\t\t\t\t\t\t\tif !headwayIdle {\n\t\t\t\t\t\t\t\t\t\theadwayNap(3)\n\t\t\t\t\t\t\t\t\t} else {\n\t\t\t\t\t\t\t\t\t\tusleep(3)\n\t\t\t\t\t\t\t\t\t}\n"},

		// What others leave is looked at in virtual time.
		{"proc.go", "\t// Poll network.\n\t// This netpoll is only an optimization", "\tif !headwayIdle {\n\t\theadwaySearch(pp)\n\t}\n\n\t// Poll network.\n\t// This netpoll is only an optimization"},

		{"proc.go", "\t// Before we drop our P, make a snapshot of the allp slice,\n", "\tif !headwayIdle && headwayLinger(pp) {\n\t\tgoto top\n\t}\n\n\t// Before we drop our P, make a snapshot of the allp slice,\n"},

		{"proc.go", "\tnmp.nextp.set(pp)\n\tnotewakeup(&nmp.park)\n", "\tnmp.nextp.set(pp)\n\tif !headwayIdle && pp != nil {\n\t\theadwayWoken(pp)\n\t}\n\tnotewakeup(&nmp.park)\n"},

		// System calls.
		{"proc.go", "\tfp := getcallerfp()\n\treentersyscall(sys.GetCallerPC(), sys.GetCallerSP(), fp)\n", "\tif !headwayIdle {\n\t\theadwaySyscall()\n\t}\n\tfp := getcallerfp()\n\treentersyscall(sys.GetCallerPC(), sys.GetCallerSP(), fp)\n"},
		{"proc.go", "func (s syscallingThread) releaseP(state uint32) {\n", "func (s syscallingThread) releaseP(state uint32) {\n\tif !headwayIdle {\n\t\theadwayRelease(s.pp, s.mp)\n\t}\n"},
		{"proc.go", "\t\tpp := gp.m.p.ptr()\n\t\tpp.m = 0\n\t\tgp.m.p = 0\n", "\t\tpp := gp.m.p.ptr()\n\t\tif !headwayIdle {\n\t\t\theadwayRelease(pp, gp.m)\n\t\t}\n\t\tpp.m = 0\n\t\tgp.m.p = 0\n"},
		{"proc.go", "\t\t\ttrace.GoSysCall()\n\t\t}\n\t\thandoffp(releasep())\n", "\t\t\ttrace.GoSysCall()\n\t\t}\n\t\tif !headwayIdle {\n\t\t\theadwaySyscallPay()\n\t\t\theadwayRelease(getg().m.p.ptr(), getg().m)\n\t\t}\n\t\thandoffp(releasep())\n"},
		{"proc.go", "\t\t\t\tacquirepNoTrace(pp)\n\n", "\t\t\t\tacquirepNoTrace(pp)\n\t\t\t\tif !headwayIdle {\n\t\t\t\t\theadwaySyscallBack()\n\t\t\t\t}\n\n"},

		// The monitor takes processors from system calls that it has met twice: its steps are of virtual time.
		{"proc.go", "\t\tusleep(delay)\n", "\t\tif !headwayIdle {\n\t\t\theadwayStep(delay)\n\t\t} else {\n\t\t\tusleep(delay)\n\t\t}\n"},

		// Nor do slices end by real time: who pays would be displaced before it is done, and the finished work of many wait uncounted.
		{"proc.go", "\t\tif retake(now) != 0 {\n", "\t\tslice := now\n\t\tif !headwayIdle {\n\t\t\tslice -= headwayDebt(now)\n\t\t}\n\t\tif retake(slice) != 0 {\n"},

		// What was inserted during a system call is waited for inside it, while others may take the processor.
		{"proc.go", "\tgp.waitsince = 0\n\n\tif sched.stopwait == freezeStopWait {\n", "\tgp.waitsince = 0\n\tif !headwayIdle {\n\t\tsystemstack(headwaySyscallEnds)\n\t}\n\n\tif sched.stopwait == freezeStopWait {\n"},
		{"proc.go", "\t\tpp.syscalltick++\n\n\t\t// Garbage collector isn't running (since we are),\n", "\t\tpp.syscalltick++\n\t\tif gp.headwayWaited != 0 {\n\t\t\theadwayWaitedOut(gp, pp)\n\t\t}\n\n\t\t// Garbage collector isn't running (since we are),\n"},

		// Who waits for a signal is woken by somebody who has paid, or by the outside: it owes nothing for the wait, however it was spent,
		// but for what is inserted after the signal.
		{"sigqueue.go", "\t\t\t\tnotewakeup(&sig.note)\n", "\t\t\t\tif !headwayIdle {\n\t\t\t\t\theadwaySignals()\n\t\t\t\t}\n\t\t\t\tnotewakeup(&sig.note)\n"},
		{"sigqueue.go", "\t\t\t\t\tnotetsleepg(&sig.note, -1)\n", "\t\t\t\t\tgetg().headwayFree = true\n\t\t\t\t\tnotetsleepg(&sig.note, -1)\n\t\t\t\t\tgetg().headwayFree = false\n"},

		// A thread that ends leaves no file open.
		{"proc.go", "func mexit(osStack bool) {\n\tmp := getg().m\n", "func mexit(osStack bool) {\n\tmp := getg().m\n\theadwayThreadEnds(mp)\n"},

		// Start-up.
		{"proc.go", "\tlast := lastmoduledatap // grab before loop starts.", "\theadwayMain()\n\tlast := lastmoduledatap // grab before loop starts."},

		// Timers run in virtual time.
		{"time.go", "func (ts *timers) check(now int64, bubble *synctestBubble) (rnow, pollUntil int64, ran bool) {\n", `func (ts *timers) check(now int64, bubble *synctestBubble) (rnow, pollUntil int64, ran bool) {
	if ts.wakeTime() == 0 {
		return now, 0, false // no timers: found out here, without another call
	}
	if headwayIdle || bubble != nil {
		return ts.headwayCheck(now, bubble)
	}
	if now == 0 {
		now = nanotime()
	}
	shift := headwayDebt(now)
	_, pollUntil, ran = ts.headwayCheck(now-shift, nil)
	if ran {
		headwayStale(getg().m.p.ptr())
	}
	if pollUntil != 0 && pollUntil < maxWhen/2 {
		pollUntil += shift
	}
	return now, pollUntil, ran
}

//go:yeswritebarrierrec
func (ts *timers) headwayCheck(now int64, bubble *synctestBubble) (rnow, pollUntil int64, ran bool) {
`},
		{"time.go", "\t\tif w := pp.timers.wakeTime(); w != 0 {\n\t\t\tnext = min(next, w)\n", "\t\tif w := pp.timers.wakeTime(); w != 0 {\n\t\t\tif w < maxWhen/2 {\n\t\t\t\tw += headwayShift()\n\t\t\t}\n\t\t\tnext = min(next, w)\n"},
		{"proc.go", "\t\t\tw := p2.timers.wakeTime()\n\t\t\tif w != 0 &&", "\t\t\tw := p2.timers.wakeTime()\n\t\t\tif w != 0 && w < maxWhen/2 {\n\t\t\t\tw += headwayShift()\n\t\t\t}\n\t\t\tif w != 0 &&"},
		{"proc.go", "func wakeNetPoller(when int64) {\n", "func wakeNetPoller(when int64) {\n\tif when < maxWhen/2 {\n\t\twhen += headwayShift()\n\t}\n"},
		{"time.go", "\t} else {\n\t\tnow = nanotime()\n\t}\n\twhen := now + ns\n", "\t} else {\n\t\tnow = headwayClock(nanotime())\n\t}\n\twhen := now + ns\n"},
		{"time.go", "\tt.lock()\n\tnow := nanotime()\n\tif t.isFake {\n", "\tt.lock()\n\tnow := headwayTimers(nanotime())\n\tif t.isFake {\n"},
		{"time.go", "\t\treturn gp.bubble.now\n\t}\n\treturn nanotime()\n}\n", "\t\treturn gp.bubble.now\n\t}\n\treturn headwayClock(nanotime())\n}\n"},
		{"time.go", "\t\treturn sec, nsec, 0\n\t}\n\treturn time_now()\n}\n", "\t\treturn sec, nsec, 0\n\t}\n\tif headwayIdle {\n\t\treturn time_now()\n\t}\n\treturn headwayTimeNow()\n}\n"},
		{"netpoll.go", "\t\td += nanotime()\n", "\t\td += headwayClock(nanotime())\n"},
		{"mgcscavenge.go", "\t\ts.timer.reset(start+sleepTime, 0)\n", "\t\ts.timer.reset(headwayTimers(start)+sleepTime, 0)\n"},
		{"trace.go", "\ts.timer.reset(nanotime()+ns, 0)\n", "\ts.timer.reset(headwayTimers(nanotime())+ns, 0)\n"},

		// The network poller.
		{"netpoll_epoll.go", "linux.EpollWait(epfd, events[:], int32(len(events)), waitms)", "headwayEpoll(events[:], waitms, delay)"},
		{"netpoll.go", "\tif rg != nil {\n\t\ttoRun.push(rg)\n\t}\n\tif wg != nil {\n\t\ttoRun.push(wg)\n\t}\n", "\tif rg != nil {\n\t\tif !headwayIdle {\n\t\t\theadwayNetReady(rg, pd.fd, false)\n\t\t}\n\t\ttoRun.push(rg)\n\t}\n\tif wg != nil {\n\t\tif !headwayIdle {\n\t\t\theadwayNetReady(wg, pd.fd, true)\n\t\t}\n\t\ttoRun.push(wg)\n\t}\n"},
		{"netpoll.go", "\t\t// Pretend it has not happened and retry.\n\t}\n\treturn pollNoError\n}\n", "\t\t// Pretend it has not happened and retry.\n\t}\n\tif !headwayIdle {\n\t\theadwayNetWoke()\n\t}\n\treturn pollNoError\n}\n"},
		{"netpoll.go", "\terrno := netpollopen(fd, pd)\n", "\theadwayForget(fd)\n\terrno := netpollopen(fd, pd)\n"},
		{"netpoll.go", "\tnetpollclose(pd.fd)\n\tpollcache.free(pd)\n", "\tnetpollclose(pd.fd)\n\theadwayForget(pd.fd)\n\tpollcache.free(pd)\n"},

		// How long a mutex's waiter has waited decides whom it goes to.
		{"sema.go", "func internal_sync_nanotime() int64 {\n\treturn nanotime()\n", "func internal_sync_nanotime() int64 {\n\treturn headwayClock(nanotime())\n"},

		// Channels.
		{"chan.go", "func chansend(c *hchan, ep unsafe.Pointer, block bool, callerpc uintptr) bool {\n\t", "func chansend(c *hchan, ep unsafe.Pointer, block bool, callerpc uintptr) bool {\n\t" + pay},
		{"chan.go", "func chanrecv(c *hchan, ep unsafe.Pointer, block bool) (selected, received bool) {\n\t", "func chanrecv(c *hchan, ep unsafe.Pointer, block bool) (selected, received bool) {\n\t" + pay},
		{"chan.go", "func closechan(c *hchan) {\n\t", "func closechan(c *hchan) {\n\t" + pay},
		{"select.go", "func selectgo(cas0 *scase, order0 *uint16, pc0 *uintptr, nsends, nrecvs int, block bool) (int, bool) {\n\t", "func selectgo(cas0 *scase, order0 *uint16, pc0 *uintptr, nsends, nrecvs int, block bool) (int, bool) {\n\t" + pay},

		// A panic has left functions without their ends.
		{"panic.go", "\t// branch directly to the deferreturn\n", "\tif gp.headwayIn != nil {\n\t\theadwayRecovered(gp, sp)\n\t}\n\n\t// branch directly to the deferreturn\n"},

		// Samples.
		{"signal_unix.go", "\t\tif !delayedSignal && validSIGPROF(mp, c) {\n", "\t\tif headwaySample(c, gp, mp, delayedSignal) {\n\t\t\treturn\n\t\t}\n\t\tif !delayedSignal && validSIGPROF(mp, c) {\n"},
	},
	"internal/sync": {
		// Lock and Unlock stay small enough to be inlined: who pays takes the slow path.
		{"mutex.go", "\t// Fast path: grab unlocked mutex.\n\tif atomic", "\tif headwayIdle && atomic"},
		{"mutex.go", "func (m *Mutex) lockSlow() {\n", `func (m *Mutex) lockSlow() {
	if !headwayIdle {
		headwayPay()
		if atomic.CompareAndSwapInt32(&m.state, 0, mutexLocked) {
			if race.Enabled {
				race.Acquire(unsafe.Pointer(m))
			}
			return
		}
	}
`},
		{"mutex.go", "func (m *Mutex) TryLock() bool {\n\t", "func (m *Mutex) TryLock() bool {\n\t" + pay},
		{"mutex.go", "\tnew := atomic.AddInt32(&m.state, -mutexLocked)\n\tif new != 0 {\n", `	new := int32(headwayUnpaid)
	if headwayIdle {
		new = atomic.AddInt32(&m.state, -mutexLocked)
	}
	if new != 0 {
`},
		{"mutex.go", "func (m *Mutex) unlockSlow(new int32) {\n", `func (m *Mutex) unlockSlow(new int32) {
	if new == headwayUnpaid {
		headwayPay()
		if new = atomic.AddInt32(&m.state, -mutexLocked); new == 0 {
			return
		}
	}
`},
		// Who has been woken tries again for the lock, against others who have not waited: that is an effect like any other.
		{"mutex.go", "\t\t\tstarving = starving ||", "\t\t\tif !headwayIdle {\n\t\t\t\theadwayPay()\n\t\t\t}\n\t\t\tstarving = starving ||"},
		{"mutex.go", "\t\t\truntime_doSpin()\n\t\t\titer++\n", "\t\t\tif headwayIdle {\n\t\t\t\truntime_doSpin()\n\t\t\t\titer++\n\t\t\t} else if headwaySpin() {\n\t\t\t\titer++\n\t\t\t}\n"},
		{"mutex.go", "\t\t\t\tbreak // locked the mutex with CAS\n", "\t\t\t\tif !headwayIdle && iter > 0 {\n\t\t\t\t\theadwayLift()\n\t\t\t\t}\n\t\t\t\tbreak // locked the mutex with CAS\n"},
	},
	"sync": {
		{"waitgroup.go", "func (wg *WaitGroup) Add(delta int) {\n\t", "func (wg *WaitGroup) Add(delta int) {\n\t" + pay},
		{"waitgroup.go", "func (wg *WaitGroup) Wait() {\n\t", "func (wg *WaitGroup) Wait() {\n\t" + pay},
		// As with Mutex, RLock and RUnlock are still inlined.
		{"rwmutex.go", "\tif rw.readerCount.Add(1) < 0 {\n\t\t// A writer is pending, wait for it.\n\t\truntime_SemacquireRWMutexR(&rw.readerSem, false, 0)\n\t}\n", `	r := int32(headwayUnpaid)
	if headwayIdle {
		r = atomic.AddInt32((*int32)(unsafe.Pointer(&rw.readerCount)), 1)
	}
	if r < 0 {
		rw.headwayRLock(r)
	}
`},
		{"rwmutex.go", "func (rw *RWMutex) TryRLock() bool {\n\t", "func (rw *RWMutex) TryRLock() bool {\n\t" + pay},
		{"rwmutex.go", "\tif r := rw.readerCount.Add(-1); r < 0 {\n", `	r := int32(headwayUnpaid)
	if headwayIdle {
		r = atomic.AddInt32((*int32)(unsafe.Pointer(&rw.readerCount)), -1)
	}
	if r < 0 {
`},
		{"rwmutex.go", "func (rw *RWMutex) rUnlockSlow(r int32) {\n", `func (rw *RWMutex) rUnlockSlow(r int32) {
	if r == headwayUnpaid {
		headwayPay()
		if r = rw.readerCount.Add(-1); r >= 0 {
			return
		}
	}
`},
		{"rwmutex.go", "func (rw *RWMutex) TryLock() bool {\n\t", "func (rw *RWMutex) TryLock() bool {\n\t" + pay},
		{"rwmutex.go", "func (rw *RWMutex) Unlock() {\n\t", "func (rw *RWMutex) Unlock() {\n\t" + pay},
		{"cond.go", "func (c *Cond) Signal() {\n\t", "func (c *Cond) Signal() {\n\t" + pay},
		{"cond.go", "func (c *Cond) Broadcast() {\n\t", "func (c *Cond) Broadcast() {\n\t" + pay},
		{"cond.go", "func (c *Cond) Wait() {\n\t", "func (c *Cond) Wait() {\n\t" + pay},
	},
	"internal/poll": {
		// Not before it has the lock: another may be closing the file.
		{"fd_mutex.go", "\treturn nil\n}\n\n// writeUnlock removes a reference from fd", "\tif !headwayIdle {\n\t\theadwayWrite(fd.Sysfd)\n\t}\n\treturn nil\n}\n\n// writeUnlock removes a reference from fd"},
		// Whoever has the right to read keeps the other readers waiting.
		{"fd_mutex.go", "\t\t\t// Lock is free, acquire it.\n\t\t\t", "\t\t\t// Lock is free, acquire it.\n\t\t\t" + pay},
		// Packets to and from many others on one socket.
		{"fd_unix.go", "func (fd *FD) ReadFromInet4(p []byte, from *syscall.SockaddrInet4) (int, error) {\n", "func (fd *FD) ReadFromInet4(p []byte, from *syscall.SockaddrInet4) (int, error) {\n" + from("from")},
		{"fd_unix.go", "func (fd *FD) ReadFromInet6(p []byte, from *syscall.SockaddrInet6) (int, error) {\n", "func (fd *FD) ReadFromInet6(p []byte, from *syscall.SockaddrInet6) (int, error) {\n" + from("from")},
		{"fd_unix.go", "func (fd *FD) ReadMsgInet4(p []byte, oob []byte, flags int, sa4 *syscall.SockaddrInet4) (int, int, int, error) {\n", "func (fd *FD) ReadMsgInet4(p []byte, oob []byte, flags int, sa4 *syscall.SockaddrInet4) (int, int, int, error) {\n" + from("sa4")},
		{"fd_unix.go", "func (fd *FD) ReadMsgInet6(p []byte, oob []byte, flags int, sa6 *syscall.SockaddrInet6) (int, int, int, error) {\n", "func (fd *FD) ReadMsgInet6(p []byte, oob []byte, flags int, sa6 *syscall.SockaddrInet6) (int, int, int, error) {\n" + from("sa6")},
		{"fd_unix.go", "func (fd *FD) WriteToInet4(p []byte, sa *syscall.SockaddrInet4) (int, error) {\n", "func (fd *FD) WriteToInet4(p []byte, sa *syscall.SockaddrInet4) (int, error) {\n" + to("sa")},
		{"fd_unix.go", "func (fd *FD) WriteToInet6(p []byte, sa *syscall.SockaddrInet6) (int, error) {\n", "func (fd *FD) WriteToInet6(p []byte, sa *syscall.SockaddrInet6) (int, error) {\n" + to("sa")},
		{"fd_unix.go", "func (fd *FD) WriteMsgInet4(p []byte, oob []byte, sa *syscall.SockaddrInet4) (int, int, error) {\n", "func (fd *FD) WriteMsgInet4(p []byte, oob []byte, sa *syscall.SockaddrInet4) (int, int, error) {\n" + to("sa")},
		{"fd_unix.go", "func (fd *FD) WriteMsgInet6(p []byte, oob []byte, sa *syscall.SockaddrInet6) (int, int, error) {\n", "func (fd *FD) WriteMsgInet6(p []byte, oob []byte, sa *syscall.SockaddrInet6) (int, int, error) {\n" + to("sa")},
	},
}

// decls are appended to one edited file of each package but runtime.
var decls = map[string]string{
	"internal/sync": hookDecls + `
//go:linkname headwayLift runtime.headwayLift
func headwayLift()

//go:linkname headwaySpin runtime.headwaySpin
func headwaySpin() bool

// headwayUnpaid is no state of a mutex: nothing was done yet.
const headwayUnpaid = -1 << 31
`,
	"sync": hookDecls + `
// headwayUnpaid is no number of readers: nothing was done yet.
const headwayUnpaid = -1 << 31

// headwayRLock is what RLock does where a writer is pending, or the accounts are kept.
func (rw *RWMutex) headwayRLock(r int32) {
	if r == headwayUnpaid {
		headwayPay()
		r = rw.readerCount.Add(1)
	}
	if r < 0 {
		runtime_SemacquireRWMutexR(&rw.readerSem, false, 0)
	}
}
`,
	"internal/poll": hookDecls + `
//go:linkname headwayWrite runtime.headwayWrite
func headwayWrite(fd int)

//go:noescape
//go:linkname headwayFrom runtime.headwayFrom
func headwayFrom(fd int, addr []byte, port int)

//go:noescape
//go:linkname headwayTo runtime.headwayTo
func headwayTo(fd int, addr []byte, port int)
`,
}
