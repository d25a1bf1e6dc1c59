import json
import os
import random
import subprocess
import sys
import tempfile

# Executes a program as the user of the agent, which can read no test.
TRY = "/.holdfast/try"


def run(*args, text="", code=0, seconds=20):
    done = subprocess.run([TRY, sys.executable, *args], input=text, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    return done.stdout


def result(program, *values):
    """What a program that has the values as `given` writes as JSON in its last line; it runs in a process of its own."""
    script = "import json, sys\nsys.path.insert(0, '.')\ngiven = [json.loads(one) for one in sys.argv[1:]]\n" + program
    return json.loads(run("-c", script, *[json.dumps(value) for value in values]).splitlines()[-1])


import heapq

SEED = {{seed}}


def right(needs):
    parts = set(needs) | {one for all_ in needs.values() for one in all_}
    left = {part: set(needs.get(part, ())) for part in parts}
    ready = [part for part in parts if not left[part]]
    heapq.heapify(ready)
    order = []
    while ready:
        part = heapq.heappop(ready)
        order.append(part)
        for other in parts:
            if part in left[other]:
                left[other].remove(part)
                if not left[other]:
                    heapq.heappush(ready, other)
    return order if len(order) == len(parts) else None


def check(needs):
    text = "".join(f"{part}: {' '.join(all_)}\n" for part, all_ in needs.items())
    wanted = right(needs)
    printed = run("order.py", text=text, code=1 if wanted is None else 0)
    assert printed.split() == (wanted or []), printed


def chain():
    check({"app": ["lib"], "lib": ["core"], "core": ["base"]})


def alphabetical():
    check({"z": [], "b": ["a"], "c": [], "a": ["z"], "B": [], "10": [], "9": ["c", "c"]})


def circle():
    check({"a": ["b"], "b": ["c"], "c": ["a"], "d": []})
    check({"a": ["a"]})


def drawn():
    draw = random.Random(SEED)
    names = [f"p{draw.randrange(10**6)}" for _ in range(120)]
    check({name: draw.sample(names[:n], min(n, draw.randrange(4))) for n, name in enumerate(names) if names.index(name) == n})


def nobody_needs():
    check({})
    check({"only": ["needed"]})


{"chain": chain, "alphabetical": alphabetical, "circle": circle, "drawn": drawn, "nobody_needs": nobody_needs}[sys.argv[1]]()
