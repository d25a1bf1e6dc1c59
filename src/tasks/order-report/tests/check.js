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
  given_file() {
    const right = [
      { customer: 'bob', orders: 2, cents: 2610, open: [] },
      { customer: 'ann', orders: 3, cents: 860, open: [7, 12] },
      { customer: 'Zoe', orders: 1, cents: 0, open: [3] },
      { customer: 'cem', orders: 1, cents: 0, open: [] },
    ];
    assert.deepStrictEqual(JSON.parse(run(['report.js', 'orders.json'])), right);
  },
  other_file() {
    const counts = {{counts}};
    const orders = counts.map((count, n) => ({ id: 1000 - n, customer: `c${count % 5}`, paid: n % 3 > 0, items: Array.from({ length: n % 4 }, (_, i) => ({ name: 'x', count, cents: i + 7 })) }));
    const right = [...new Set(orders.map(({ customer }) => customer))].map((customer) => {
      const own = orders.filter((order) => order.customer === customer);
      const cents = own.filter(({ paid }) => paid).flatMap(({ items }) => items).reduce((sum, item) => sum + item.count * item.cents, 0);
      return { customer, orders: own.length, cents, open: own.filter(({ paid }) => !paid).map(({ id }) => id).sort((a, b) => a - b) };
    }).sort((a, b) => b.cents - a.cents || (a.customer < b.customer ? -1 : 1));
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'orders-')), 'o.json');
    fs.chmodSync(path.dirname(file), 0o755);
    fs.writeFileSync(file, JSON.stringify(orders));
    assert.deepStrictEqual(JSON.parse(run(['report.js', file])), right);
  },
  no_orders() {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'orders-')), 'o.json');
    fs.chmodSync(path.dirname(file), 0o755);
    fs.writeFileSync(file, '[]');
    assert.deepStrictEqual(JSON.parse(run(['report.js', file])), []);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
