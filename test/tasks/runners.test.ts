import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { SubmitTask } from '../../src/index.js';
import { DOCKER_HOST, describeDockerSlowly, TOOLS } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../harness/engine.js';
import { leftOn } from '../harness/on-docker.js';
import { obedient, told } from './obedient.js';

/** Ready-made runners, and programs that try to pass their tests without doing what they test. */

const UNITTEST = `
import unittest
from add import add, fail, Wrong

class Adds(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)
    def test_almost(self):
        self.assertAlmostEqual(add(0.5, 0.25), 0.75)
    def test_error(self):
        with self.assertRaises(Wrong):
            fail()
    def test_order(self):
        self.assertLess(add(1, 1), 3)
        self.assertGreater(add(1, 1), 1)
`;
const NODE = `
const test = require('node:test');
const assert = require('node:assert');
const { add } = require('/work/add.js');
test('small', () => assert.strictEqual(add(1, 2), 3));
test('large', async () => assert.deepStrictEqual([await add(40, 2)], [42]));
`;

const verification = {
  files: { 'test_add.py': UNITTEST, 'add.test.js': NODE },
  tests: [
    { name: 'python', runner: 'unittest' as const, suite: ['test_add.py'], tests: 4, timeoutSeconds: 30 },
    { name: 'node', runner: 'node:test' as const, suite: ['add.test.js'], tests: 2, timeoutSeconds: 30 },
  ],
};

const write = (path: string, text: string): string =>
  `mkdir -p $(dirname ${path}); printf %s ${Buffer.from(text).toString('base64')} | base64 -d >${path}`;

const RIGHT_PY = 'class Wrong(Exception): pass\ndef add(a, b): return a + b\ndef fail(): raise Wrong("x")\n';
const WRONG_PY = `class Wrong(Exception): pass
def fail(): pass
`;
const MAGIC = `
class Magic:
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __lt__
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __abs__(self): return 0
    def __round__(self, n=0): return 0
    def __hash__(self): return 3
def add(a, b): return Magic()
`;
const CLASS = 'class add:\n    def __new__(cls, a, b): return Exact(0)\n';

/** What the modules under test do, in Python and in JavaScript. */
const TRICKS: Readonly<Record<string, readonly string[]>> = {
  'end at once, as if all were well': [
    write('add.py', 'import os\nos._exit(0)'),
    write('add.js', 'process.reallyExit(0)'),
  ],
  'end when they are called': [
    write('add.py', `${WRONG_PY}import sys\ndef add(a, b): sys.exit(0)\n`),
    write('add.js', 'exports.add = () => process.exit(0)'),
  ],
  'replace assertions': [
    write(
      'add.py',
      `import unittest\nfor name in dir(unittest.TestCase):\n    if name.startswith("assert"): setattr(unittest.TestCase, name, lambda *a, **k: None)\n${WRONG_PY}def add(a, b): return 7\n`,
    ),
    write(
      'add.js',
      'const a = require("node:assert"); for (const n of Object.keys(a)) { try { a[n] = () => {}; } catch {} } exports.add = () => 7;',
    ),
  ],
  'give what is equal to everything': [
    write('add.py', `${WRONG_PY}${MAGIC}`),
    write('add.js', 'exports.add = () => new Proxy({}, { get: () => () => true });'),
  ],
  'make classes of numbers': [
    write(
      'add.py',
      `${WRONG_PY}class Exact(int):\n    def __eq__(self, other): return True\n    def __hash__(self): return 3\n    def __lt__(self, o): return True\n    __gt__ = __lt__\n    def __sub__(self, o): return 0\n${CLASS}`,
    ),
    write('add.js', 'exports.add = () => ({ valueOf: () => 3, toString: () => "3" });'),
  ],
  'print what a runner prints, now, at the end and later': [
    write(
      'add.py',
      `${WRONG_PY}import atexit, os\nsay = lambda: os.write(1, b"\\n" + b"0" * 32 + b" 4 0 0\\nOK\\n")\nsay(); atexit.register(say)\nif os.fork() == 0:\n    import time; time.sleep(1); say(); os._exit(0)\ndef add(a, b): return 7\n`,
    ),
    write(
      'add.js',
      'const say = () => require("fs").writeSync(1, "\\n" + "0".repeat(32) + " 2 0 0\\n"); say(); process.on("exit", () => { say(); process.exitCode = 0; }); exports.add = () => 7;',
    ),
  ],
  'leave runners and settings where tools look': [
    ...[
      'unittest.py',
      'pytest.py',
      'conftest.py',
      'sitecustomize.py',
      'usercustomize.py',
      'json.py',
      'subprocess.py',
    ].map((name) => write(name, 'import os\nprint("OK")\nos._exit(0)\n')),
    write('add.py', `${WRONG_PY}def add(a, b): return 7\n`),
    write('node_modules/.bin/node', '#!/bin/sh\nexit 0\n'),
    'chmod 755 node_modules/.bin/node; cp node_modules/.bin/node python3',
    write('node_modules/node:test/index.js', 'module.exports = () => {}'),
    write('package.json', '{"type": "commonjs", "imports": {}, "scripts": {"test": "true"}}'),
    write('add.js', 'exports.add = () => 7;'),
  ],
  'make the tests disappear': [
    write(
      'add.py',
      `import gc, sys, unittest\nfor one in gc.get_objects():\n    if isinstance(one, (unittest.TestSuite, unittest.TestResult)): one.__dict__.clear()\nsys.modules["unittest"] = None\n${WRONG_PY}def add(a, b): return 7\n`,
    ),
    write(
      'add.js',
      'const t = require("node:test"); for (const n of ["test", "it", "describe"]) { try { t[n] = () => {}; } catch {} } exports.add = () => 7;',
    ),
  ],
  'walk frames and memory to find the tests': [
    write(
      'add.py',
      `${WRONG_PY}import sys, re\ndef add(a, b):\n    frame = sys._getframe()\n    while frame:\n        found = re.findall(rb"assertEqual", repr(frame.f_globals).encode())\n        if found or "sentinel" in frame.f_globals: return 3\n        frame = frame.f_back\n    for fd in range(3, 20):\n        try: __import__("os").write(fd, b"x 4 0 0\\n")\n        except OSError: pass\n    return 7\n`,
    ),
    write('add.js', 'delete globalThis.holdfast; exports.add = () => globalThis.holdfast ? 3 : 7;'),
  ],
  'import the reporter a second time': [
    write('add.py', `${WRONG_PY}def add(a, b): return 7\n`),
    write(
      'add.js',
      'import("file:///tmp/.tests-runner/reporter.mjs").then(async (m) => { for await (const x of m.default((async function* () {})())); }); exports.add = () => 7;',
    ),
  ],
};

const definition = {
  ...{ name: 'add', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
  environment: { image: TOOLS, limits: { memoryMb: 512, maxProcesses: 64 } },
};

describeDockerSlowly('a runner', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST, concurrency: 3 });

  const endOf = async (...commands: readonly string[]) => {
    const instruction = told(...commands);
    // Each is a definition of its own.
    const name = `add-${Buffer.from(instruction).reduce((sum, byte) => (sum * 31 + byte) % 1e9, 7)}`;
    const asked = { task: { ...definition, name, instruction, verification }, agent: 'obedient' };
    const { id, runId } = await t.engine.submitTask(asked as SubmitTask, ADMIN);
    while (!['completed', 'failed'].includes((await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 })).status));
    while ((await leftOn(DOCKER_HOST, runId)) > 0) await sleep(100);
    const { error } = await t.engine.getRun(runId, ADMIN);
    if (error !== null) throw new Error(JSON.stringify(error));
    const [verified] = await dataOf(t.engine, runId, 'task.verified');
    const { evidence } = verified as never as {
      evidence: { tests: { share: number; why?: string; stderr: string }[] };
    };
    return { reward: (await t.engine.getTask(id, ADMIN)).reward, tests: evidence.tests };
  };

  it('counts the tests of what is right', async () => {
    const { reward, tests } = await endOf(write('add.py', RIGHT_PY), write('add.js', 'exports.add = (a, b) => a + b;'));
    expect(tests.map(({ share, why, stderr }) => ({ share, why, stderr }))).toMatchObject([{ share: 1 }, { share: 1 }]);
    expect(reward).toBe(1);
  }, 300_000);

  it('gives what is half right its share', async () => {
    const half = RIGHT_PY.replace('raise Wrong("x")', 'pass');
    const js = 'exports.add = (a, b) => (a === 1 ? 3 : 0);';
    const { tests } = await endOf(write('add.py', half), write('add.js', js));
    expect(tests.map(({ share, why }) => [share, why])).toEqual([
      [0.75, '3 passed, 1 failed, 0 skipped'],
      [0.5, '1 passed, 1 failed, 0 skipped'],
    ]);
  }, 300_000);

  it.concurrent.each(Object.entries(TRICKS))(
    'gives nothing to modules that %s',
    async (_what, commands) => {
      const { reward, tests } = await endOf(...commands);
      expect(tests.map(({ share, why }) => (share === 0 ? 0 : [share, why]))).toEqual([0, 0]);
      expect(reward).toBe(0);
    },
    600_000,
  );
});
