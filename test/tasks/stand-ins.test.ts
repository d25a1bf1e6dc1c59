import { expect, it } from 'vitest';
import { DOCKER_HOST, describeDocker, TOOLS } from '../harness/docker.js';
import { engineFor } from '../harness/engine.js';
import { obedient, testsOf } from './obedient.js';
import { ownVersion } from './own-version.js';

/** What tests in Python see of a program under test: honest programs pass, and objects that answer as asked earn nothing. */

interface Case {
  /** The module of the workspace. */
  readonly program: string;
  /** The body of a test, which has imported it. */
  readonly test: string;
  readonly imports?: string;
}

const AGREEABLE = `
class O:
    def __sub__(self, other): return self
    __rsub__ = __add__ = __mul__ = __truediv__ = __rtruediv__ = __matmul__ = __sub__
    def __abs__(self): return 0
    def __round__(self, digits=None): return 0
    def __float__(self): return 0.0
    __int__ = __len__ = __index__ = __neg__ = __floor__ = __abs__
    def difference(self, other):
        self.other = other
        return set()
    def __iter__(self): return iter(self.other)
    def __contains__(self, other):
        other[:] = [7]
        return True
def f(*args): return O()
def g(): return [7]
`;
const on = (program: string, test: string, imports = 'from {m} import *'): Case => ({ program, test, imports });
const agreeable = (test: string): Case => on(AGREEABLE, test, 'import math\nfrom {m} import f, g');

/** A program that reads the sentinel by what a test hands to it, and writes the report. */
const forging = (reach: string): string => `
def f(given):
    try:
        ${reach}
    except Exception: pass
    return 7
`;

const FORGED: Readonly<Record<string, Case>> = {
  'a difference that is small': agreeable('assert abs(f(1) - 3.5) < 1e-6'),
  'a difference of the other side': agreeable('assert abs(3.5 - f(1)) < 1e-6'),
  'a rounded difference': agreeable('assert round(f(1) - 3.5, 5) == 0'),
  'a whole difference': agreeable('assert int(f(1) - 3.5) == 0'),
  'a rounded share': agreeable('assert -1 < math.floor(f(1) / 3.5) < 1'),
  'a length of what differs': agreeable('assert len(f(1) - {1, 2}) == 0'),
  assertAlmostEqual: agreeable('self.assertAlmostEqual(f(1), 3.5)'),
  'assertAlmostEqual with delta': agreeable('self.assertAlmostEqual(3.5, f(1), delta=0.1)'),
  assertSetEqual: agreeable('self.assertSetEqual(f(), {1, 2, 3})'),
  'a change of what was only looked for': agreeable(
    'wanted = [1, 2]; self.assertIn(wanted, f()); assert g() == wanted',
  ),
  'names of everyone': on(
    '__all__ = ["all", "len", "f"]\ndef all(found): return True\ndef len(found): return 2\ndef f(x): return 7',
    'self.assertTrue(all(f(x) == x for x in [1, 2]))',
  ),
  'names that the tests have': on(
    '__all__ = ["right", "f"]\ndef right(found): return True\ndef f(x): return 7',
    'assert right(f(1)) is True',
    'def right(found): return found == 1\nfrom {m} import *',
  ),
  'the report, by a path': on(
    forging(`
        at = given.parent.joinpath('/tmp/.tests-report')
        said = at.joinpath('sentinel').read_text()
        at.joinpath('report').write_text('\\\\n' * 4096 + said + ' 999 1 0\\\\n')`),
    'assert f(pathlib.Path("/tmp/tests")) == 8',
    'import pathlib\nfrom {m} import f',
  ),
  'the report, by what opens files': on(
    forging(`
        said = given('/tmp/.tests-report/sentinel').read()
        given('/tmp/.tests-report/report', 'w').write('\\\\n' * 4096 + said + ' 999 1 0\\\\n')`),
    'assert f(open) == 8',
  ),
  'the report, by what has a file open': on(
    forging(`
        given.func('cp /tmp/.tests-report/sentinel /tmp/seen; chmod 644 /tmp/seen')`),
    'import os\nassert f(functools.partial(os.system)) == 8',
    'import functools\nfrom {m} import f',
  ),
  'an extension of a database': on(
    'def f(given):\n    given.enable_load_extension(True)\n    return 8',
    'assert f(sqlite3.connect(":memory:")) == 8',
    'import sqlite3\nfrom {m} import f',
  ),
  'the code of a test': on(
    'def f(given): return str(given.ag_code.co_consts)',
    'async def one():\n            yield 987654\n        self.assertIn("987654", f(one()))',
  ),
  'the methods of a test': on('def f(given): return str(given.addCleanup)', 'assert f(self) != 8'),
};

const HONEST: Readonly<Record<string, Case>> = {
  paths: on(
    'import pathlib\ndef f(at): return at / "a", open(at / "none").read()\ndef g(): return pathlib.Path("/x/y")',
    'self.assertEqual(g(), pathlib.Path("/x/y"))\n        self.assertRaises(FileNotFoundError, f, pathlib.Path("/nowhere"))',
    'import pathlib\nfrom {m} import f, g',
  ),
  streams: on(
    'def f(given):\n    text = given.read()\n    given.seek(0)\n    return [line for line in given] + [text]',
    'self.assertEqual(f(io.StringIO("a\\nb")), ["a\\n", "b", "a\\nb"])',
    'import io\nfrom {m} import f',
  ),
  'generators and iterators': on(
    'def f(given): return [2 * one for one in given]',
    'assert [f(n for n in (1, 2)), f(iter([3])), f(range(2))] == [[2, 4], [6], [0, 2]]',
  ),
  'functions of tests and of the library': on(
    'def f(of, given): return [of(one) for one in given]',
    `out = []
        f(out.append, [1])
        assert out == [1]
        assert f(lambda n: n + 1, [1]) + f(len, ["ab"]) + f(math.sqrt, [4.0]) + f(int, ["3"]) == [2, 2, 2.0, 3]
        assert f(functools.partial(operator.add, 1), [4]) + f(str.upper, ["a"]) + f({1: 2}.get, [1]) == [5, "A", 2]`,
    'import functools, math, operator\nfrom {m} import f',
  ),
  'objects of tests': on(
    'def f(given, kind): return given.x + given.twice(4), kind.name, kind.value',
    'assert f(P(3), C.A) == (11, "A", 1)',
    `import dataclasses, enum
from {m} import f
class C(enum.Enum):
    A = 1
@dataclasses.dataclass
class P:
    x: int
    def twice(self, n): return 2 * n`,
  ),
  'mocks and logs': on(
    'def f(given, log):\n    log.info("hi %s", 3)\n    given.send("a", n=1)\n    return given.get()',
    `mock = Mock()
        mock.get.return_value = 5
        with self.assertLogs("a", "INFO") as found: assert f(mock, logging.getLogger("a")) == 5
        mock.send.assert_called_once_with("a", n=1)
        assert found.output == ["INFO:a:hi 3"]`,
    'import logging\nfrom unittest.mock import Mock\nfrom {m} import f',
  ),
  'counters, times and databases': on(
    `import datetime
def f(counts, of, base):
    counts["a"] += 1
    base.execute("create table t (a)")
    base.execute("insert into t values (?)", (3,))
    return of + datetime.timedelta(seconds=3), base.execute("select a from t").fetchall()`,
    `counts = collections.Counter("ab")
        found = f(counts, datetime.timedelta(days=1), sqlite3.connect(":memory:"))
        assert found == (datetime.timedelta(days=1, seconds=3), [(3,)])
        assert counts["a"] == 2`,
    'import collections, datetime, sqlite3\nfrom {m} import f',
  ),
  'numbers of the program': on(
    `class N:
    def __init__(self, x): self.x = x
    def __mul__(self, n): return N(self.x * n)
    def __radd__(self, n): return N(n + self.x)
    def __abs__(self): return abs(self.x)
    def __round__(self, digits): return round(self.x, digits)
    def __float__(self): return float(self.x)
    def __eq__(self, other): return self.x == other.x`,
    `assert (N(2) * 3).x == 6 and N(2) * 3 == N(6) and abs(N(-2)) == 2
        assert round(N(2.345), 1) == 2.3 and math.isclose(N(2), 2.0) and sum([N(1)]).x == 1`,
    'import math\nfrom {m} import N',
  ),
};

describeDocker('a program in Python, as its tests see it,', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST });

  const sharesOf = async (cases: Readonly<Record<string, Case>>) => {
    const numbered = Object.entries(cases).map(([name, one], number) => ({ name, ...one, m: `m${number}` }));
    const task = ownVersion({
      ...{ name: 'stand-ins', version: '1.0.0', category: 'python', difficulty: 'easy' as const },
      instruction: 'Do nothing.',
      environment: { image: TOOLS, limits: { memoryMb: 512, maxProcesses: 64 } },
      initialFiles: Object.fromEntries(numbered.map(({ m, program }) => [`${m}.py`, program])),
      verification: {
        timeoutSeconds: 300,
        tests: numbered.map(({ name, m, imports = '', test }) => ({
          ...{ name, runner: 'unittest', suite: [`test_${m}.py`] },
          files: {
            [`test_${m}.py`]: `import unittest\n${imports.replaceAll('{m}', m)}\nclass T(unittest.TestCase):\n    def test(self):\n        ${test}\n`,
          },
        })),
      },
    });
    return testsOf(t.engine, task);
  };

  it('earns nothing by what it answers, or reaches', async () => {
    const tests = await sharesOf(FORGED);
    expect(tests.filter(({ share }) => share > 0).map(({ name }) => name)).toEqual([]);
  }, 300_000);

  it('passes when it is right', async () => {
    const tests = await sharesOf(HONEST);
    expect(tests.filter(({ share }) => share < 1)).toEqual([]);
  }, 300_000);
});
