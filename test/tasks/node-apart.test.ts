import { expect, it } from 'vitest';
import { DOCKER_HOST, describeDocker, TOOLS } from '../harness/docker.js';
import { engineFor } from '../harness/engine.js';
import { obedient, testsOf } from './obedient.js';
import { ownVersion } from './own-version.js';

/** Tests of `node:test` whose program is apart: honest programs pass, and none learns or writes what the tests know. */

interface Case {
  /** The module of the workspace, in CommonJS. */
  readonly program: string;
  /** What a test does with it, as `m`. */
  readonly test: string;
}

const on = (program: string, test: string): Case => ({ program, test });

const HONEST: Readonly<Record<string, Case>> = {
  'plain data': on(
    'exports.f = (...all) => all;',
    `const given = [1, -0, NaN, null, undefined, 10n, 'ä\\ud800', [1, , 2], { a: { b: [] } }, new Map([[1, new Set([2])]]), new Date(5), /a/g, Buffer.from('x'), new Uint16Array([1, 2])];
     assert.deepStrictEqual(m.f(...given), given);`,
  ),
  'changes of what was given': on(
    'exports.sort = (list) => list.sort(); exports.put = (map) => { map.set("b", 2); };',
    `const list = [3, 1, 2]; assert.strictEqual(m.sort(list), list); assert.deepStrictEqual(list, [1, 2, 3]);
     const map = new Map(); m.put(map); assert.strictEqual(map.get('b'), 2);`,
  ),
  errors: on(
    'class Wrong extends TypeError { code = "E_WRONG"; } exports.Wrong = Wrong; exports.fail = () => { throw new Wrong("no"); }; exports.late = async () => { throw new RangeError("late"); };',
    `assert.throws(() => m.fail(), m.Wrong); assert.throws(m.fail, { code: 'E_WRONG', message: 'no' }); assert.throws(m.fail, TypeError);
     await assert.rejects(m.late(), RangeError);`,
  ),
  classes: on(
    'class P { static of(x) { return new P(x); } constructor(x) { this.x = x; } #n = 0; get twice() { return this.x * 2; } inc() { return ++this.#n; } *[Symbol.iterator]() { yield this.x; yield 7; } } exports.P = P;',
    `const p = new m.P(4); assert.ok(p instanceof m.P); assert.strictEqual(p.twice, 8); p.x = 5; assert.deepStrictEqual([...p], [5, 7]);
     p.inc(); assert.strictEqual(p.inc(), 2); assert.deepStrictEqual(m.P.of(1), new m.P(1)); assert.notDeepStrictEqual(m.P.of(1), m.P.of(2));`,
  ),
  'functions, promises and events': on(
    `const { EventEmitter } = require('node:events');
     exports.soon = (done) => setTimeout(() => done(null, 5), 20); exports.map = async (list, of) => Promise.all(list.map(of));
     exports.E = class extends EventEmitter { go() { setImmediate(() => this.emit('x', { a: 1 })); } };
     exports.gen = async function* (n) { for (let i = 0; i < n; i++) yield i; }; exports.opts = ({ on, n = 3 }) => on(n);`,
    `assert.strictEqual(await new Promise((done) => m.soon((error, found) => done(found))), 5);
     assert.deepStrictEqual(await m.map([1, 2], async (n) => n * 2), [2, 4]);
     const e = new m.E(); const said = require('node:events').once(e, 'x'); e.go(); assert.deepStrictEqual(await said, [{ a: 1 }]);
     const all = []; for await (const one of m.gen(3)) all.push(one); assert.deepStrictEqual(all, [0, 1, 2]);
     const mock = t.mock.fn((n) => n + 1); assert.strictEqual(m.opts({ on: mock }), 4); assert.strictEqual(mock.mock.callCount(), 1);`,
  ),
  servers: on(
    `exports.listen = () => new Promise((done) => { const s = require('node:http').createServer((q, r) => r.end('hi')); s.listen(0, '127.0.0.1', () => done(s)); }); console.log('it says something');`,
    `const server = await m.listen(); const said = await fetch('http://127.0.0.1:' + server.address().port); assert.strictEqual(await said.text(), 'hi');
     await new Promise((done) => server.close(done));`,
  ),
};

const WORKING: Readonly<Record<string, Case>> = {
  'a thread': on(
    "const { Worker } = require('node:worker_threads'); exports.f = () => new Promise((done) => new Worker('setTimeout(() => require(`node:worker_threads`).parentPort.postMessage(5), 300)', { eval: true }).on('message', done));",
    'assert.strictEqual(await m.f(), 5);',
  ),
  'a pool of threads': on(
    "exports.f = () => require('node:util').promisify(require('node:crypto').scrypt)('a', 'b', 64, { N: 32768, maxmem: 2 ** 30 });",
    'assert.strictEqual((await m.f()).length, 64);',
  ),
  'a stream, whose events come after the test has its listeners': on(
    "const { Transform } = require('node:stream'); exports.f = () => new Transform({ transform(piece, _, done) { done(null, String(piece).toUpperCase()); } });",
    `const stream = m.f(); const got = []; stream.on('data', (piece) => got.push(String(piece))); stream.write('ab'); stream.end('c');
     await new Promise((done) => stream.on('end', done)); assert.strictEqual(got.join(''), 'ABC');`,
  ),
  'a pool of promises': on(
    'exports.Pool = class { constructor(most) { this.most = most; this.now = 0; this.left = []; } run(f) { return new Promise((done) => { this.left.push(() => f().then(done)); this.go(); }); } go() { while (this.now < this.most && this.left.length > 0) { this.now++; this.left.shift()().finally(() => { this.now--; this.go(); }); } } };',
    `const pool = new m.Pool(2); let now = 0, most = 0;
     const job = async () => { most = Math.max(most, ++now); await new Promise((done) => setTimeout(done, 20)); now--; };
     await Promise.all([1, 2, 3, 4, 5].map(() => pool.run(job))); assert.strictEqual(most, 2);`,
  ),
  'symbols and accessors': on(
    "exports.s = Symbol('x'); exports.f = (s) => s === exports.s; exports.o = { get a() { return this.b ?? 1; }, set a(b) { this.b = b * 2; } };",
    'assert.ok(m.f(m.s)); m.o.a = 4; assert.strictEqual(m.o.a, 8);',
  ),
};

const FORGED: Readonly<Record<string, Case>> = {
  'the end of its process': on('process.exit(0);', 'm.f(); assert.ok(true);'),
  'the end of its process when it is called': on('exports.f = () => process.exit(0);', 'm.f();'),
  'answers that are no answers': on(
    'exports.f = () => { require("node:fs").writeSync(4, "x 9 0 0\\n{}\\n"); return 7; };',
    'assert.strictEqual(m.f(), 8);',
  ),
  'what is equal to everything': on(
    'exports.f = () => new Proxy(function () {}, { get: (of, key) => key === Symbol.toPrimitive ? () => 8 : key === "then" ? undefined : () => true, apply: () => true });',
    'assert.deepStrictEqual(m.f(), { a: 1 });',
  ),
  'an array of its own kind': on(
    'exports.f = () => Object.assign(Object.create(Array.prototype), { 0: 8, length: 1 });',
    'assert.deepStrictEqual(m.f(), [8]);',
  ),
  'code by the constructor of a function': on(
    'exports.f = (of) => { try { of.constructor("process.exitCode = 0; return process")().title; } catch {} try { of.constructor("globalThis.pwned = 8")(); } catch {} return 7; };',
    'const found = m.f(() => 1); assert.strictEqual(globalThis.pwned ?? found, 8);',
  ),
  'the context of the test': on(
    'exports.f = (t) => { for (const one of ["skip", "test", "after", "todo"]) { try { t[one]("x", () => {}); } catch {} } return 7; };',
    'assert.strictEqual(m.f(t), 8);',
  ),
  'what loads modules': on(
    'exports.f = (load) => { try { return load("node:process").pid; } catch { return 7; } };',
    'assert.strictEqual(m.f(require), process.pid);',
  ),
  'what everyone has': on('exports.f = (of) => of.pid;', 'assert.strictEqual(m.f(process), process.pid);'),
  'methods of what tests hand over': on(
    'exports.f = (of) => { try { of.judge = () => true; } catch {} try { of.__proto__ = { judge: () => true }; } catch {} return 7; };',
    'class J { judge(n) { return n === 8; } } const j = new J(); assert.ok(j.judge(m.f(j)));',
  ),
  'the files of the tests and of the report': on(
    `const fs = require('node:fs'); exports.f = () => { for (const at of ['/tmp/.tests-report', '/tmp/tests', '/tmp/.tests-runner']) { try { for (const one of fs.readdirSync(at)) fs.writeFileSync(at + '/' + one, 'x 9 0 0\\n'); } catch {} } return 7; };`,
    'assert.strictEqual(m.f(), 8);',
  ),
  'packages where tests look for them': on(
    `const fs = require('node:fs'); try { fs.mkdirSync('/tmp/node_modules/judge', { recursive: true }); fs.writeFileSync('/tmp/node_modules/judge/index.js', 'process.reallyExit(0)'); } catch {} exports.f = () => 7;`,
    'let other = () => 8; try { other = require("judge"); } catch {} assert.strictEqual(m.f(), other());',
  ),
};

describeDocker('a program in JavaScript that is apart from its tests', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST });

  const sharesOf = async (cases: Readonly<Record<string, Case>>, asModules = false) => {
    const numbered = Object.entries(cases).map(([name, one], number) => ({ name, ...one, m: `m${number}.js` }));
    const task = ownVersion({
      ...{ name: 'node-apart', version: '1.0.0', category: 'javascript', difficulty: 'easy' as const },
      instruction: 'Do nothing.',
      environment: { image: TOOLS, limits: { memoryMb: 512, maxProcesses: 128 } },
      initialFiles: Object.fromEntries(numbered.map(({ m, program }) => [m, program])),
      verification: {
        timeoutSeconds: 300,
        tests: numbered.map(({ name, m, test }) => {
          const path = `${m}.test.${asModules ? 'mjs' : 'js'}`;
          const begin = asModules
            ? `import { createRequire } from 'node:module'; import test from 'node:test'; import assert from 'node:assert'; import m from '/work/${m}'; const require = createRequire(import.meta.url);`
            : `const test = require('node:test'); const assert = require('node:assert'); const m = require('/work/${m}');`;
          return {
            ...{ name, runner: 'node:test', apart: true, suite: [path], tests: 1, timeoutSeconds: 30 },
            files: { [path]: `${begin}\ntest('one', async (t) => { ${test} });\n` },
          };
        }),
      },
    });
    return testsOf(t.engine, task);
  };

  it('passes when it is right, as CommonJS and as modules', async () => {
    for (const asModules of [false, true]) {
      const tests = await sharesOf({ ...HONEST, ...WORKING }, asModules);
      expect(tests.filter(({ share }) => share < 1)).toEqual([]);
    }
  }, 300_000);

  it('earns nothing by what it answers, or reaches', async () => {
    const tests = await sharesOf(FORGED);
    expect(tests.filter(({ share }) => share > 0).map(({ name }) => name)).toEqual([]);
  }, 300_000);
});
