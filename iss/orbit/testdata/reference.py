"""Writes made.tle, skyfield.csv, passes.csv and sun.csv beside this file.

    pip install skyfield==1.55 sgp4==2.27 pyerfa==2.0.1.5
    python3 reference.py

Only what the packages ship is used: nothing is fetched.
"""

import csv
import os
import random
from importlib.metadata import version

import erfa
import numpy as np
import skyfield
from skyfield.api import EarthSatellite, load, wgs84

here = os.path.dirname(os.path.abspath(__file__))
ts = load.timescale(builtin=True)
random.seed(6)


def checksum(line):
    return str(sum(int(c) if c.isdigit() else c == "-" for c in line[:68]) % 10)


def sets():
    """The element sets of SGP4-VER.TLE from 1973 on that propagate for two days."""
    first = None
    for line in open(os.path.join(here, "SGP4-VER.TLE")):
        if line.startswith("1 "):
            first = line[:68] + checksum(line)
        elif line.startswith("2 "):
            sat = EarthSatellite(first, line[:68] + checksum(line), ts=ts)
            errors = [sat.model.sgp4_tsince(m)[0] for m in range(-2880, 2881, 60)]
            if not any(errors) and sat.epoch.utc.year >= 1974:
                yield sat


ISS = (
    "1 25544U 98067A   25060.50000000  .00016717  00000+0  30074-3 0  9990",
    "2 25544  51.6370 150.0000 0006000 320.0000  40.0000 15.49000000500000",
)
ISS = tuple(l[:68] + checksum(l) for l in ISS)
HUBBLE = (
    "1 20580U 90037B   25060.25000000  .00005000  00000+0  25000-3 0  9990",
    "2 20580  28.4690  80.0000 0002500 100.0000 260.0000 15.20000000700000",
)
HUBBLE = tuple(l[:68] + checksum(l) for l in HUBBLE)
GPS = (
    "1 28129U 03058A   06175.57071136 -.00000104  00000-0  10000-3 0   459",
    "2 28129  54.7298 324.8098 0048506 266.2640  93.1663  2.00562768 18443",
)
MOLNIYA = (
    "1 08195U 75081A   06176.33215444  .00000099  00000-0  11873-3 0   813",
    "2 08195  64.1586 279.0717 6877146 264.7651  20.2257  2.00491383225656",
)


def skyfield_table():
    name = f"Skyfield {skyfield.__version__}, sgp4 {version('sgp4')}"
    sats = list(sets()) + [EarthSatellite(*ISS, ts=ts)] * 4 + [EarthSatellite(*HUBBLE, ts=ts)]
    with open(os.path.join(here, "made.tle"), "w") as f:
        f.write("# Made up by reference.py, after the space station and Hubble.\n")
        for l in ISS + HUBBLE:
            f.write(l + "\n")
    with open(os.path.join(here, "skyfield.csv"), "w", newline="") as f:
        f.write(f"# {name}, timescale built in, wgs84.geographic_position_of; by reference.py: degrees, km\n")
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["object", "utc", "latitude", "longitude", "height"])
        for i in range(1000):
            sat = sats[i % len(sats)]
            minutes = random.uniform(-2880, 2880)
            t = ts.utc(*sat.epoch.utc[:4], sat.epoch.utc.minute, round(sat.epoch.utc.second) + round(60 * minutes))
            p = wgs84.geographic_position_of(sat.at(t))
            w.writerow([sat.model.satnum, t.utc_iso(),
                        f"{p.latitude.degrees:.9f}", f"{p.longitude.degrees:.9f}", f"{p.elevation.km:.6f}"])


def passes_table():
    places = [(52.5, 13.4, 0.1), (-33.9, 18.4, 0.0), (0, 0, 0), (64.1, -21.9, 0.05), (-45, 170, 1.5)]
    with open(os.path.join(here, "passes.csv"), "w", newline="") as f:
        f.write(f"# Skyfield {skyfield.__version__}, EarthSatellite.find_events; by reference.py: event 0 rises, 1 culminates, 2 sets; degrees, km\n")
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["object", "latitude", "longitude", "height", "least", "utc", "event", "azimuth", "elevation", "range"])
        for tle, days in ((ISS, 3), (HUBBLE, 3), (GPS, 2), (MOLNIYA, 2)):
            sat = EarthSatellite(*tle, ts=ts)
            for lat, lon, h in places:
                for least in (0.0, 10.0):
                    start = ts.utc(*sat.epoch.utc[:3])
                    t, events = sat.find_events(wgs84.latlon(lat, lon, 1000 * h), start, start + days, least)
                    for ti, e in zip(t, events):
                        el, az, d = (sat - wgs84.latlon(lat, lon, 1000 * h)).at(ti).altaz()
                        w.writerow([sat.model.satnum, lat, lon, h, least, ti.utc_iso(places=3), e,
                                    f"{az.degrees:.4f}", f"{el.degrees:.4f}", f"{d.km:.3f}"])


def sun_table():
    """Apparent position of the sun's centre, from the IAU's SOFA in ERFA, in TEME."""
    with open(os.path.join(here, "sun.csv"), "w", newline="") as f:
        f.write(f"# pyerfa {erfa.__version__}: epv00, aberration by the Earth's speed, pnm06a, eqeq94; by reference.py: km in TEME\n")
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["utc", "x", "y", "z"])
        for i in range(300):
            utc = erfa.dtf2d("UTC", 1974 + i * 52 // 300, 1 + i % 12, 1 + i % 28, i % 24, 0, 0)
            tt = erfa.taitt(*erfa.utctai(*utc))
            pvh, pvb = erfa.epv00(*tt)
            r = -np.array(pvh["p"])
            d = np.linalg.norm(r)
            v = np.array(pvb["v"]) * 0.0057755183  # of light
            u = r / d + v
            u /= np.linalg.norm(u)
            u = erfa.pnm06a(*tt) @ u
            a = erfa.eqeq94(*tt)
            u = np.array([[np.cos(a), np.sin(a), 0], [-np.sin(a), np.cos(a), 0], [0, 0, 1]]) @ u
            y, m, day, hms = erfa.d2dtf("UTC", 0, *utc)
            w.writerow([f"{y:04d}-{m:02d}-{day:02d}T{hms['h']:02d}:{hms['m']:02d}:{hms['s']:02d}Z", *(f"{x:.1f}" for x in u * d * 149597870.7)])


skyfield_table()
passes_table()
sun_table()
