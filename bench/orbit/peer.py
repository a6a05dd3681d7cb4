"""Answers bench/orbit: a command byte, a count, that many float64; numbers come back."""

import struct
import sys
import time
from importlib.metadata import version
from math import pi

import numpy as np
from sgp4.api import WGS72, WGS84, Satrec, SatrecArray, accelerated

if not accelerated:
    sys.exit("sgp4 has no compiled C++ on this machine, so there is nothing to compare with")

out = sys.stdout.buffer
out.write((version("sgp4") + "\n").encode())
out.flush()


def read(n):
    b = sys.stdin.buffer.read(n)
    if len(b) < n:
        sys.exit(0)
    return b


def answer(numbers):
    out.write(np.asarray(numbers, dtype="<f8").tobytes())
    out.flush()


degree, perday = pi / 180.0, 1440.0 / (2.0 * pi)
sats, batch, start = [], None, None
while True:
    command = read(1)
    (n,) = struct.unpack("<Q", read(8))
    x = np.frombuffer(read(8 * n), dtype="<f8")
    if command == b"e":  # elements, ten numbers each: gravity, mode, days since 1949 December 31, ...
        sats = []
        for g, mode, epoch, bstar, e, argp, i, m, motion, node in x.reshape(-1, 10).tolist():
            s = Satrec()
            s.sgp4init(WGS84 if g else WGS72, "a" if mode else "i", 5, epoch, bstar, 0.0, 0.0, e,
                       argp * degree, i * degree, m * degree, motion / perday, node * degree)
            sats.append(s)
        batch = SatrecArray(sats)
        start = np.array([s.jdsatepoch + s.jdsatepochF for s in sats])
        answer([len(sats)])
    elif command == b"s":  # states: minutes for each set
        rows = []
        per = n // len(sats)
        for s, minutes in zip(sats, x.reshape(-1, per).tolist()):
            for t in minutes:
                error, r, v = s.sgp4_tsince(t)
                rows.append((error, *r, *v))
        answer(np.array(rows).ravel())
    elif command == b"b":  # batch: Julian days; seconds
        jd, fr = np.floor(x), x - np.floor(x)
        begin = time.perf_counter()
        batch.sgp4(jd, fr)
        answer([time.perf_counter() - begin])
    elif command == b"1":  # one orbit, a call for each of many times at once: index, calls; seconds
        s, calls = sats[int(x[0])], int(x[1])
        jd = np.full(calls, np.floor(s.jdsatepoch + s.jdsatepochF))
        fr = np.arange(calls) % 1440 / 1440.0
        begin = time.perf_counter()
        s.sgp4_array(jd, fr)
        answer([time.perf_counter() - begin])
    elif command == b"c":  # the same as calls from Python
        f, calls = sats[int(x[0])].sgp4_tsince, int(x[1])
        begin = time.perf_counter()
        for t in range(calls):
            f(t % 1440)
        answer([time.perf_counter() - begin])
