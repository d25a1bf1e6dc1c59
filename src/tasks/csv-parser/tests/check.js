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
  plain() {
    const parse = (text) => JSON.parse(run(['csv.js'], text));
    assert.deepStrictEqual(parse('a,b\nc,d\n'), [['a', 'b'], ['c', 'd']]);
    assert.deepStrictEqual(parse('a,,\n, b '), [['a', '', ''], ['', ' b ']]);
    assert.deepStrictEqual(parse(''), []);
    assert.deepStrictEqual(parse('\ufeffa'), [['a']]);
  },
  quotes() {
    const parse = (text) => JSON.parse(run(['csv.js'], text));
    assert.deepStrictEqual(parse('"a,b","c ""d"""\n"",x'), [['a,b', 'c "d"'], ['', 'x']]);
    assert.deepStrictEqual(parse('"a\nb\r\nc",d\n'), [['a\nb\r\nc', 'd']]);
    assert.deepStrictEqual(parse('""""'), [['"']]);
  },
  line_ends() {
    const parse = (text) => JSON.parse(run(['csv.js'], text));
    assert.deepStrictEqual(parse('a\r\nb\rc\nd'), [['a'], ['b'], ['c'], ['d']]);
    assert.deepStrictEqual(parse('a\n\nb\n'), [['a'], [''], ['b']]);
    assert.deepStrictEqual(parse('\n'), [['']]);
    assert.deepStrictEqual(parse('a,'), [['a', '']]);
  },
  refuses() {
    for (const text of ['a"b', '"a"b,c', '"a', '"a" ,b', 'x,"', ' "a"', '"a""']) assert.strictEqual(run(['csv.js'], text, 2), '', text);
  },
  drawn() {
    const words = {{words}};
    const pieces = [',', '"', '\n', '\r\n', ' ', 'ü', '""'];
    const rows = Array.from({ length: 12 }, (_, n) => words.slice(n, n + 1 + (n % 4)).map((word, i) => word + pieces[(n + i * 3) % pieces.length] + word));
    const text = rows.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(',')).join('\r\n');
    assert.deepStrictEqual(JSON.parse(run(['csv.js'], text)), rows);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
