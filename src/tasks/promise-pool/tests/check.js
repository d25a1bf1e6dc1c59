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
  results() {
    const body = `const { pool } = require("./pool.js"); const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      const limits = []; for (const limit of [0, 1.5, "2", NaN, -1]) limits.push(await pool([1], async () => 1, { limit }).then(() => "ok", (error) => error.name));
      return [await pool([30, 10, 20, 1], async (ms) => { await wait(ms); return ms * 2; }), await pool([], async () => 1), await pool(new Set(["a", "b"]), async (x) => x + x, { limit: 1 }), limits]`;
    assert.deepStrictEqual(result(body), [[60, 20, 40, 2], [], ['aa', 'bb'], Array(5).fill('RangeError')]);
  },
  bound() {
    const body = `const { pool } = require("./pool.js"); let at = 0, most = 0, taken = 0, ahead = 0, ended = 0;
      function* items() { for (let n = 0; n < 40; n++) { taken++; ahead = Math.max(ahead, taken - ended); yield n; } }
      await pool(items(), async (n) => { most = Math.max(most, ++at); await new Promise((done) => setTimeout(done, n % 5)); at--; ended++; }, { limit: 3 });
      return [most, ahead <= 4, taken]`;
    assert.deepStrictEqual(result(body), [3, true, 40]);
  },
  first_error() {
    const body = `const { pool } = require("./pool.js"); const seen = []; let aborted = 0, flying = 0; const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      let said; try { await pool([1, 2, 3, 4, 5, 6], async (n, { signal }) => { seen.push(n); flying++; signal.addEventListener("abort", () => { aborted++; });
        await wait(n === 2 ? 5 : 40); flying--; if (n === 2) throw new Error("two"); if (n === 1) throw new Error("later"); }, { limit: 3 }); } catch (error) { said = error.message; }
      return [said, seen, flying, aborted >= 2]`;
    assert.deepStrictEqual(result(body), ['two', [1, 2, 3], 0, true]);
  },
  stops() {
    const body = `const { pool } = require("./pool.js"); const control = new AbortController(); const seen = []; const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      setTimeout(() => control.abort(new Error("stop")), 15);
      const first = await pool([1, 2, 3, 4, 5, 6, 7, 8], async (n) => { seen.push(n); await wait(40); }, { limit: 2, signal: control.signal }).then(() => "ok", (error) => error.message);
      const second = await pool([1], async () => { seen.push("no"); }, { signal: control.signal }).then(() => "ok", (error) => error.message);
      return [first, second, seen]`;
    assert.deepStrictEqual(result(body), ['stop', 'stop', [1, 2]]);
  },
  retries() {
    const body = `const { pool } = require("./pool.js"); const calls = [];
      const work = async (n, { attempt }) => { calls.push([n, attempt]); if (attempt < n) throw new Error("no " + n); return n * 10 + attempt; };
      const good = await pool([0, 1, 2], work, { limit: 1, retries: 2 }); const bad = await pool([3], work, { retries: 2 }).then(() => "ok", (error) => error.message);
      const sync = await pool([1], () => { throw new Error("at once"); }).then(() => "ok", (error) => error.message);
      return [good, bad, sync, calls]`;
    assert.deepStrictEqual(result(body), [[0, 11, 22], 'no 3', 'at once', [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2], [3, 0], [3, 1], [3, 2]]]);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
