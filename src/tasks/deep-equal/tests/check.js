const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

// Executes a program as the user of the agent, which can read no test.
const TRY = '/.holdfast/try';

function run(args, input = '', code = 0) {
  const done = spawnSync(TRY, [process.execPath, ...args], { input, encoding: 'utf8', timeout: 20000 });
  assert.strictEqual(done.status, code, done.stderr);
  return done.stdout;
}

/** What a function body that has `given` returns, also as a promise; it runs in a process of its own. */
function result(body, ...given) {
  const script = `(async (given) => {${body}})(${JSON.stringify(given)}).then((value) => console.log('\\n' + JSON.stringify(value)))`;
  return JSON.parse(run(['-e', script]).trimEnd().split('\n').at(-1));
}

const tests = {
  plain_values() {
    const body = 'const { equal } = require("./equal.js"); return [equal(1, 1), equal(NaN, NaN), equal(0, -0), equal("1", 1), equal(null, undefined), equal(null, {}), equal("", ""), equal(true, 1)]';
    assert.deepStrictEqual(result(body), [true, true, true, false, false, false, true, false]);
  },
  nested() {
    const body = `const { equal } = require("./equal.js");
      return [equal({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), equal({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }), equal([1, 2], [1, 2, 3]),
        equal([], {}), equal({ x: 1, y: 2 }, { y: 2, x: 1 }), equal([[], [[]]], [[], [[]]]), equal([undefined], [])]`;
    assert.deepStrictEqual(result(body), [true, false, false, false, true, true, false]);
  },
  kinds() {
    const body = `const { equal } = require("./equal.js");
      class P { constructor(x) { this.x = x; } }
      return [equal(new Date(5), new Date(5)), equal(new Date(5), new Date(6)), equal(new Map([[1, { a: 1 }], ["k", 2]]), new Map([["k", 2], [1, { a: 1 }]])),
        equal(new Map([[1, { a: 1 }]]), new Map([[1, { a: 2 }]])), equal(new Map([[1, undefined]]), new Map([[2, undefined]])), equal(new Set([1, 2]), new Set([2, 1])),
        equal(new Set([1, 2]), new Set([1, 3])), equal(new P(1), new P(1)), equal(new P(1), { x: 1 }), equal(new Map(), new Set()), equal(new Date(5), {}), equal(new Set([NaN]), new Set([NaN]))]`;
    assert.deepStrictEqual(result(body), [true, false, true, false, false, true, false, true, false, false, false, true]);
  },
  circles() {
    const body = `const { equal } = require("./equal.js");
      const ring = (value) => { const one = { value, list: [] }; one.list.push(one); return one; };
      const a = { x: 1 }; a.self = a; const b = { x: 1, self: { x: 1 } }; b.self.self = b;
      const m = new Map(); m.set("me", m); const n = new Map(); n.set("me", n);
      const shared = { y: 1 };
      return [equal(ring(1), ring(1)), equal(ring(1), ring(2)), equal(a, b), equal(m, n), equal([shared, shared], [{ y: 1 }, { y: 1 }]), equal([shared, shared], [{ y: 1 }, { y: 2 }])]`;
    assert.deepStrictEqual(result(body), [true, false, true, true, true, false]);
  },
  own_properties() {
    const body = `const { equal } = require("./equal.js");
      return [equal({ a: undefined }, {}), equal({ a: undefined }, { b: undefined }), equal({ a: 1 }, Object.create({ a: 1 })), equal(Object.create(null), {}),
        equal({ hasOwnProperty: 1 }, { hasOwnProperty: 1 }), equal({ toString: 1 }, {}), equal(Object.create(null), Object.create(null))]`;
    assert.deepStrictEqual(result(body), [false, false, false, false, true, false, true]);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
