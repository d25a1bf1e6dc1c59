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


NAMES = {{names}}
PLAY = """
import sqlite3, users
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE users (name TEXT, age INTEGER)")
db.executemany("INSERT INTO users VALUES (?, ?)", [("ann", 30), ("bob", 25), ("Bobby", 25), ("o'hara", 61), ("100%", 1), ("a_b", 2)])
said = []
for name, *args in given[0]:
    try:
        said.append(getattr(users, name)(db, *args))
    except Exception as error:
        said.append(type(error).__name__)
said.append(db.execute("SELECT count(*) FROM users").fetchone()[0])
print(json.dumps(said))
"""


def check(calls, wanted):
    got = result(PLAY, calls)
    assert got == wanted, got


def finds_users():
    calls = [["find", "ann"], ["find", "nobody"], ["search", "BOB", "name"], ["find", "o'hara"]]
    check(calls, [["ann", 30], None, [["Bobby", 25], ["bob", 25]], ["o'hara", 61], 6])


def injection():
    evil = "x' OR '1'='1"
    check([["find", evil], ["search", evil, "name"], ["find", "o'hara"], ["search", "'", "name"]], [None, [], ["o'hara", 61], [["o'hara", 61]], 6])
    check([["search", "x%' UNION SELECT sql, 1 FROM sqlite_master --", "name"], ["search", "%", "name"], ["search", "_", "age"]], [[], [["100%", 1]], [["a_b", 2]], 6])


def order_by():
    check([["search", "b", "age"], ["search", "b", "age; DROP TABLE users"], ["search", "b", "rowid"]], [[["a_b", 2], ["Bobby", 25], ["bob", 25]], "ValueError", "ValueError", 6])


def adds_users():
    evil = "x', 1); DELETE FROM users; --"
    check([["add", evil, 40], ["find", evil], ["add", "d\"e", 41], ["find", "d\"e"]], [None, [evil, 40], None, ["d\"e", 41], 8])


def drawn_names():
    calls = [["add", name, age] for age, name in enumerate(NAMES)] + [["find", name] for name in NAMES]
    got = result(PLAY, [*calls, ["search", "\\", "name"], ["find", f"{NAMES[0]}' --"]])
    assert [one[0] for one in got[len(NAMES) : -3]] == NAMES and got[-3:] == [[], None, 6 + len(NAMES)], got


{"finds_users": finds_users, "injection": injection, "order_by": order_by, "adds_users": adds_users, "drawn_names": drawn_names}[sys.argv[1]]()
