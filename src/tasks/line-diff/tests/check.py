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


def fewest(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        before = 0
        for j, y in enumerate(b):
            before, row[j + 1] = row[j + 1], before + 1 if x == y else max(row[j + 1], row[j])
    return len(a) + len(b) - 2 * row[-1]


def check(a, b):
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        for name, lines in (("a", a), ("b", b)):
            with open(f"{place}/{name}", "w") as file:
                file.write("".join(line + "\n" for line in lines))
        printed = run("difference.py", f"{place}/a", f"{place}/b").split("\n")[:-1]
    assert all(line[:2] in ("  ", "- ", "+ ") for line in printed), printed
    assert [line[2:] for line in printed if line[:2] != "+ "] == a
    assert [line[2:] for line in printed if line[:2] != "- "] == b
    changed = [line for line in printed if line[:2] != "  "]
    assert len(changed) == fewest(a, b), (len(changed), fewest(a, b))
    assert not any(x[:2] == "+ " and y[:2] == "- " for x, y in zip(printed, printed[1:])), printed


def equal_files():
    check(["a", "b", "", "c"], ["a", "b", "", "c"])
    check([], [])


def small_changes():
    check(["a", "b", "c", "d"], ["a", "x", "c", "d"])
    check(list("abcabba"), list("cbabac"))
    check(["- a", "+ b", "  c"], ["+ b", "- a", "  c"])


def everything_new():
    check([], ["a", "b"])
    check(["a", "b"], [])
    check(["a", "b", "c"], ["x", "y"])


def drawn():
    draw = random.Random(SEED)
    for length in (30, 120, 500):
        a = [draw.choice("abcdefgh") * draw.randrange(1, 3) for _ in range(length)]
        b = [line for line in a if draw.random() < 0.8]
        for _ in range(length // 8):
            b.insert(draw.randrange(len(b) + 1), draw.choice("abcdefghxyz"))
        check(a, b)


{"equal_files": equal_files, "small_changes": small_changes, "everything_new": everything_new, "drawn": drawn}[sys.argv[1]]()
