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
  merges() {
    const body = 'const { merge } = require("./merge.js"); return [merge({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 4 }, e: 5 }), merge({ a: { x: 1 } }, { a: 7 }), merge({ a: 7 }, { a: { x: 1 } }), merge({ a: 1 }, { a: null }), merge({ a: 1 }, { a: undefined }), merge({}, {})]';
    assert.deepStrictEqual(result(body), [{ a: 1, b: { c: 4, d: 3 }, e: 5 }, { a: 7 }, { a: { x: 1 } }, { a: null }, { a: 1 }, {}]);
  },
  lists() {
    const body = 'const { merge } = require("./merge.js"); return [merge({ a: [1, 2, 3] }, { a: [{ b: 4 }] }), merge({ a: [1] }, { a: {} }), merge({ a: { b: 1 } }, { a: [] })]';
    assert.deepStrictEqual(result(body), [{ a: [{ b: 4 }] }, { a: {} }, { a: [] }]);
  },
  pollution() {
    const body = `const { merge } = require("./merge.js");
      const evil = JSON.parse('{"__proto__":{"admin":1},"constructor":{"prototype":{"admin":2}},"a":{"__proto__":{"admin":3},"prototype":4,"ok":5},"l":[{"__proto__":{"admin":6},"x":7}]}');
      const got = merge({ a: { b: 1 } }, evil);
      return [{}.admin === undefined, got, got.a.admin === undefined, got.l[0].admin === undefined, Object.getPrototypeOf(got.a) === Object.prototype, Object.getPrototypeOf(got.l[0]) === Object.prototype,
        Object.hasOwn(got, "constructor"), Object.hasOwn(got, "__proto__"), Object.hasOwn(got.l[0], "__proto__")]`;
    assert.deepStrictEqual(result(body), [true, { a: { b: 1, ok: 5 }, l: [{ x: 7 }] }, true, true, true, true, false, false, false]);
  },
  leaves_its_input() {
    const body = `const { merge } = require("./merge.js"); const defaults = { a: { b: 1 }, l: [{ c: 1 }] }; const given_ = { a: { d: { e: 2 } }, m: [[3]] };
      const before = JSON.stringify([defaults, given_]); const got = merge(defaults, given_); got.a.b = 9; got.a.d.e = 9; got.l[0].c = 9; got.m[0][0] = 9; got.l.push(1);
      return JSON.stringify([defaults, given_]) === before`;
    assert.strictEqual(result(body), true);
  },
  deep() {
    const body = `const { merge } = require("./merge.js"); const nested = (n, list) => { let v = 1; for (let i = 0; i < n; i++) v = list ? [v] : { v }; return v; };
      const of = (v) => { try { merge({}, { v }); return "ok"; } catch (error) { return error.name; } };
      return [of(nested(50)), of(nested(200)), of(nested(20000)), of(nested(50, true)), of(nested(20000, true))]`;
    assert.deepStrictEqual(result(body), ['ok', 'RangeError', 'RangeError', 'ok', 'RangeError']);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
