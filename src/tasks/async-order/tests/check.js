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
  in_order() {
    const body = `const { importOrders } = require("./import-orders.js"); const seen = [];
      const order = (id) => ({ id, lines: [1] });
      await importOrders([order("a"), order("b"), order("c")], async ({ id }) => { await new Promise((done) => setTimeout(done, id === "a" ? 30 : 1)); seen.push(id); });
      return seen`;
    assert.deepStrictEqual(result(body), ['a', 'b', 'c']);
  },
  all_at_end() {
    const body = `const { importOrders } = require("./import-orders.js");
      const orders = [{ id: 1, lines: [1] }, { id: 2, lines: [] }, { id: 3, lines: [1], cancelled: true }, { id: 4, lines: [1], cancelled: false }, { id: 5 }];
      const got = []; const said = await importOrders(orders, async ({ id }) => { await null; got.push(id); }); return [said, got, await importOrders([], async () => {})]`;
    assert.deepStrictEqual(result(body), [{ saved: [1, 4], skipped: [2, 3, 5] }, [1, 4], { saved: [], skipped: [] }]);
  },
  one_at_a_time() {
    const body = `const { importOrders } = require("./import-orders.js"); let at = 0, most = 0;
      const orders = Array.from({ length: 20 }, (_, id) => ({ id, lines: [1] }));
      await importOrders(orders, async () => { most = Math.max(most, ++at); await new Promise((done) => setTimeout(done, 1)); at--; }); return [most, at]`;
    assert.deepStrictEqual(result(body), [1, 0]);
  },
  errors_come_out() {
    const body = `const { importOrders } = require("./import-orders.js"); const got = [];
      const orders = [1, 2, 3, 4].map((id) => ({ id, lines: [1] }));
      const of = async (save) => { try { await importOrders(orders, save); return "no error"; } catch (error) { return [error.message, error.savedBefore]; } };
      return [await of(async ({ id }) => { got.push(id); if (id === 3) throw new Error("full"); }), got, await of(() => { throw new Error("at once"); })]`;
    assert.deepStrictEqual(result(body), [['full', [1, 2]], [1, 2, 3], ['at once', []]]);
  },
  drawn() {
    const lines = {{lines}};
    const body = `const { importOrders } = require("./import-orders.js");
      return importOrders(given[0].map((n, id) => ({ id, lines: Array(n).fill(0) })), () => new Promise((done) => setTimeout(done, 1)))`;
    const ids = lines.map((_, id) => id);
    assert.deepStrictEqual(result(body, lines), { saved: ids.filter((id) => lines[id] > 0), skipped: ids.filter((id) => lines[id] === 0) });
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
