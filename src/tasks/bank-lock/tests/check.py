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


def single_transfers():
    program = """
from bank import Bank
bank = Bank({"a": 100, "b": 50})
bank.transfer("a", "b", 30)
bank.transfer("b", "a", 80)
try:
    bank.transfer("b", "a", 0 - 80)
except ValueError:
    pass
print(json.dumps([bank.balance("a"), bank.balance("b"), bank.total()]))
"""
    assert result(program) == [150, 0, 150]


def refuses():
    program = """
from bank import Bank
bank = Bank({"a": 100, "b": 50})
said = []
for args in (("a", "b", 101), ("a", "b", 0), ("a", "b", -5), ("a", "x", 5), ("x", "a", 5)):
    try:
        bank.transfer(*args)
        said.append("moved")
    except (ValueError, KeyError) as error:
        said.append(type(error).__name__)
print(json.dumps([said, bank.balance("a"), bank.balance("b"), bank.total()]))
"""
    assert result(program) == [["ValueError"] * 3 + ["KeyError"] * 2, 100, 50, 150]


def not_to_itself():
    program = """
from bank import Bank
bank = Bank({"a": 100})
try:
    bank.transfer("a", "a", 5)
    said = "moved"
except ValueError:
    said = "refused"
print(json.dumps([said, bank.balance("a")]))
"""
    assert result(program) == ["refused", 100]


PLAY = """
import random, sys, threading
from bank import Bank
sys.setswitchinterval(1e-6)
names = [f"n{n}" for n in range(given[2])]
bank = Bank({name: 1000 for name in names})
wrong = []

def work(seed):
    draw = random.Random(seed)
    for n in range(given[1]):
        try:
            bank.transfer(draw.choice(names), draw.choice(names), draw.randrange(1, 400))
        except ValueError:
            pass
        if n % 50 == 0 and bank.total() != 1000 * len(names):
            wrong.append(bank.total())

threads = [threading.Thread(target=work, args=(given[0] + n,), daemon=True) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(15)
standing = sum(thread.is_alive() for thread in threads)
left = [] if standing else [bank.balance(name) for name in names]
print(json.dumps([standing, wrong[:3], sum(left), min(left, default=-1) >= 0]))
sys.stdout.flush()
import os
os._exit(0)
"""


def nothing_is_lost():
    assert result(PLAY, SEED, 400, 6) == [0, [], 6000, True]


def never_stands_still():
    assert result(PLAY, SEED, 600, 2) == [0, [], 2000, True]


{"single_transfers": single_transfers, "refuses": refuses, "not_to_itself": not_to_itself, "nothing_is_lost": nothing_is_lost, "never_stands_still": never_stands_still}[sys.argv[1]]()
