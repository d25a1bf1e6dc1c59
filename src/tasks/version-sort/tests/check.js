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
  numbers() {
    const sorted = (list) => run(['versions.js'], list.join('\n')).split('\n').filter(Boolean);
    assert.deepStrictEqual(sorted(['1.10.0', '1.9.0', '1.2.10', '0.0.1', '1.2.9']), ['0.0.1', '1.2.9', '1.2.10', '1.9.0', '1.10.0']);
    assert.deepStrictEqual(sorted(['1.0.9007199254740993', '1.0.9007199254740992']), ['1.0.9007199254740992', '1.0.9007199254740993']);
  },
  prereleases() {
    const right = ['1.0.0-0', '1.0.0-2', '1.0.0-11', '1.0.0--', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0'];
    const given = [...right].reverse();
    assert.deepStrictEqual(run(['versions.js'], given.join('\n')).split('\n').filter(Boolean), right);
  },
  builds() {
    const given = ['1.0.0+b', '1.0.0+a', '1.0.0-x+1', '1.0.0', '1.0.0-x'];
    assert.deepStrictEqual(run(['versions.js'], given.join('\n')).split('\n').filter(Boolean), ['1.0.0-x+1', '1.0.0-x', '1.0.0+b', '1.0.0+a', '1.0.0']);
  },
  invalid() {
    const wrong = ['1.0', 'v1.0.0', '01.0.0', '1.0.0-01', '1.0.0-', '1.0.0+', '1.0.0-a..b', '1.0.0-ü', '1.0.0.0', '-1.0.0', '1.0.0+a+b'];
    const done = spawnSync(TRY, [process.execPath, 'versions.js'], { input: ['2.0.0', ...wrong, '', '1.0.0-0a'].join('\n'), encoding: 'utf8' });
    assert.deepStrictEqual([done.status, done.stdout, done.stderr.split('\n').filter(Boolean)], [1, '1.0.0-0a\n2.0.0\n', wrong]);
  },
  drawn() {
    const parts = {{parts}};
    const given = parts.map((part, n) => `${part % 3}.${part % 7}.${part}${n % 3 === 0 ? `-rc.${part % 12}` : ''}`);
    const key = (version) => version.match(/^(\d+)\.(\d+)\.(\d+)(?:-rc\.(\d+))?$/).slice(1).map((n) => (n === undefined ? 1e9 : Number(n)));
    const right = [...given].sort((a, b) => { const [x, y] = [key(a), key(b)]; const at = x.findIndex((n, i) => n !== y[i]); return at < 0 ? 0 : x[at] - y[at]; });
    assert.deepStrictEqual(run(['versions.js'], given.join('\n')).split('\n').filter(Boolean), right);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
