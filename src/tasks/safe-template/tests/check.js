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
  fills_in() {
    const body = 'const { render } = require("./template.js"); return [render("<p>[[a]] and [[b]], [[a]]</p>", { a: "x", b: 7 }), render("none", {}), render("[[ a ]] [a]", { a: 1 }), render("[[a]]", { a: "&" })]';
    assert.deepStrictEqual(result(body), ['<p>x and 7, x</p>', 'none', '[[ a ]] [a]', '&amp;']);
  },
  escapes() {
    const body = 'const { render } = require("./template.js"); const evil = given[0]; return [render("<p>[[x]]</p>", { x: evil }), render("<p>[[raw x]]</p>", { x: "<b>1</b>" })]';
    assert.deepStrictEqual(result(body, '<script>alert("&1")</script>'), ['<p>&lt;script&gt;alert(&quot;&amp;1&quot;)&lt;/script&gt;</p>', '<p><b>1</b></p>']);
  },
  attributes() {
    const body = `const { render } = require("./template.js"); return render("<a title='[[x]]' b=[[x]]>", { x: given[0] })`;
    assert.strictEqual(result(body, "' onclick='x`"), "<a title='&#39; onclick=&#39;x&#96;' b=&#39; onclick=&#39;x&#96;>");
  },
  strange_values() {
    const body = `const { render } = require("./template.js");
      return [render("[[a]]|[[b]]|[[c]]", { a: null, b: undefined }), render("[[toString]][[constructor]][[__proto__]]", {}), render("[[a]][[b]]", { a: "[[b]]", b: "$&$1$$" }),
        render("[[raw a]]", { a: "[[b]]$&", b: 1 }), render("[[a]]", { a: false }), render("[[raw a]]|[[raw none]]", { a: null })]`;
    assert.deepStrictEqual(result(body), ['||', '', '[[b]]$&amp;$1$$', '[[b]]$&', 'false', '|']);
  },
  drawn() {
    const words = {{words}};
    const values = Object.fromEntries(words.map((word) => [word, `<${word}>`]));
    const template = words.map((word) => `[[${word}]]`).join('<br>');
    const right = words.map((word) => `&lt;${word}&gt;`).join('<br>');
    assert.strictEqual(result('return require("./template.js").render(given[0], given[1])', template, values), right);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
