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
  pairs() {
    const body = 'const { parse } = require("./query.js"); return [parse("?a=1&b=2"), parse("a=1"), parse(""), parse("?"), parse("a&b="), parse("a=b=c")]';
    assert.deepStrictEqual(result(body), [{ a: '1', b: '2' }, { a: '1' }, {}, {}, { a: '', b: '' }, { a: 'b=c' }]);
  },
  decodes() {
    const body = 'const { parse } = require("./query.js"); return [parse("a+b=c+d"), parse("x=%C3%BC%26"), parse("%3D=%3d"), parse("a=%2B")]';
    assert.deepStrictEqual(result(body), [{ 'a b': 'c d' }, { x: 'ü&' }, { '=': '=' }, { a: '+' }]);
  },
  repeats() {
    const body = 'const { parse } = require("./query.js"); return [parse("a=1&a=2&b=3&a="), parse("a=1&%61=2")]';
    assert.deepStrictEqual(result(body), [{ a: ['1', '2', ''], b: '3' }, { a: ['1', '2'] }]);
  },
  odd_ones() {
    const body = `const { parse } = require("./query.js"); const odd = parse("__proto__=1&toString=2");
      return [Object.getPrototypeOf(odd), Object.keys(odd).sort(), odd.toString, parse("&&a=1&&"), parse("=1&b=2"), parse("a=%zz+%C3"), parse("??a=1")]`;
    assert.deepStrictEqual(result(body), [null, ['__proto__', 'toString'], '2', { a: '1' }, { b: '2' }, { a: '%zz %C3' }, { '?a': '1' }]);
    const text = fs.readFileSync('query.js', 'utf8');
    for (const word of ['URLSearchParams', 'new URL(', 'querystring']) assert.ok(!text.includes(word), word);
  },
  drawn() {
    const words = {{words}};
    const text = words.map((word, n) => `${word}=${encodeURIComponent(`${word} & ${n}`)}`).join('&');
    const right = {};
    words.forEach((word, n) => { right[word] = word in right ? [right[word], `${word} & ${n}`].flat() : `${word} & ${n}`; });
    assert.deepStrictEqual(result('return require("./query.js").parse(given[0])', text), right);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
