import collections
import os
import re
import subprocess
import sys
import tempfile

# Executes a program as the user of the agent, which can read no test.
TRY = "/.holdfast/try"

TOP = {{top}}
WORDS = {{words}}


def printed(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        os.chmod(file.name, 0o644)
        file.write(text)
        file.flush()
        done = subprocess.run(
            [TRY, sys.executable, "count_words.py", file.name], capture_output=True, text=True, timeout=20
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def right(text):
    counts = collections.Counter(re.findall("[a-z]+", text.lower()))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{word} {count}" for word, count in ordered[:TOP]]


def check(text):
    assert printed(text) == right(text), (printed(text), right(text))


def counts():
    check("one two two three three three four four four four five five five five five six\n")


def ignores_case():
    check("Tea tea TEA coffee Coffee; water-water/water. Water!\n")


def breaks_ties():
    check("pear fig apple pear fig apple kiwi\n")


def other_input():
    check(", ".join(WORDS) + "\n" + " ".join(WORDS[::3]))


{"counts": counts, "ignores_case": ignores_case, "breaks_ties": breaks_ties, "other_input": other_input}[sys.argv[1]]()
