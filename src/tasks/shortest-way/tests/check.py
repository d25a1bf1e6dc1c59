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


SEED = {{seed}}


def right(start, goal, roads):
    import heapq

    near = {}
    for a, b, cost in roads:
        near.setdefault(a, []).append((b, cost))
        near.setdefault(b, []).append((a, cost))
    queue, done = [(0, 1, [start])], set()
    while queue:
        cost, length, way = heapq.heappop(queue)
        if way[-1] == goal:
            return f"{cost}\n{' '.join(way)}\n"
        if way[-1] in done:
            continue
        done.add(way[-1])
        for place, more in near.get(way[-1], ()):
            if place not in done:
                heapq.heappush(queue, (cost + more, length + 1, [*way, place]))
    return "none\n"


def check(start, goal, roads):
    text = f"{start} {goal}\n" + "".join(f"{a} {b} {cost}\n" for a, b, cost in roads)
    printed = run("way.py", text=text)
    assert printed.strip() == right(start, goal, roads).strip(), printed


def small_map():
    check("a", "d", [("a", "b", 1), ("b", "d", 2), ("a", "c", 2), ("c", "d", 1), ("a", "d", 4)])
    check("d", "a", [("a", "b", 1), ("b", "d", 2), ("a", "c", 2), ("c", "d", 1), ("a", "d", 3)])
    check("a", "a", [("b", "c", 1)])


def no_way():
    check("a", "z", [("a", "b", 1), ("y", "z", 1)])
    check("a", "b", [])


def cheaper_detour():
    check("a", "e", [("a", "e", 10), ("a", "b", 2), ("b", "c", 2), ("c", "d", 2), ("d", "e", 2), ("a", "b", 5)])
    check("a", "c", [("a", "b", 0), ("b", "c", 0), ("a", "c", 0)])


def drawn():
    draw = random.Random(SEED)
    names = [f"p{n}" for n in range(80)]
    for _ in range(3):
        check(names[0], names[1], [(draw.choice(names), draw.choice(names), draw.randrange(6)) for _ in range(200)])


{"small_map": small_map, "no_way": no_way, "cheaper_detour": cheaper_detour, "drawn": drawn}[sys.argv[1]]()
