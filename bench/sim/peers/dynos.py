"""250 dynos behind one router, in SimPy as its documentation has it: a process for each
request, a Resource for each dyno. usage: dynos.py random|least REQUESTS SEED"""

import json
import random
import sys
import time

import simpy

policy, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
luck = random.Random(seed)
env = simpy.Environment()
dynos = [simpy.Resource(env) for _ in range(250)]
conns = [0] * 250
took = [0.0] * n


def request(i):
    begin = env.now
    if policy == "least":
        d = conns.index(min(conns))
        conns[d] += 1
    else:
        d = luck.randrange(250)
    yield env.timeout(2)
    with dynos[d].request() as turn:
        yield turn
        yield env.timeout(20 + luck.expovariate(1 / 100))
    yield env.timeout(2)
    if policy == "least":
        conns[d] -= 1
    took[i] = env.now - begin


def load():
    for i in range(n):
        yield env.timeout(luck.expovariate(1 / 1.5))
        env.process(request(i))


start = time.perf_counter()
env.process(load())
env.run()
seconds = time.perf_counter() - start
half = sorted(took[n // 4 : n - n // 4])
quantile = lambda q: half[int(len(half) * q)]
print(json.dumps({"requests": n, "seconds": seconds, "median": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99)}))
