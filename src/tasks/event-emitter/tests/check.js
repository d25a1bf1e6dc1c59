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
  calls() {
    const body = `const { Emitter } = require("./emitter.js"); const e = new Emitter(); const seen = []; const f = (...v) => seen.push(v);
      e.on("a", f); e.on("a", f); e.on("b", () => seen.push("b")); const n = e.emit("a", 1, 2);
      return [n, e.emit("none"), e.emit("__proto__"), e.emit("toString"), seen]`;
    assert.deepStrictEqual(result(body), [2, 0, 0, 0, [[1, 2], [1, 2]]]);
  },
  once() {
    const body = `const { Emitter } = require("./emitter.js"); const e = new Emitter(); const seen = [];
      e.once("a", (x) => { seen.push(x); e.emit("a", x + 1); }); e.on("a", (x) => seen.push("on" + x)); return [e.emit("a", 1), e.emit("a", 5), seen]`;
    assert.deepStrictEqual(result(body), [2, 1, [1, 'on2', 'on1', 'on5']]);
  },
  off() {
    const body = `const { Emitter } = require("./emitter.js"); const e = new Emitter(); const seen = []; const f = () => seen.push("f"); const g = () => seen.push("g");
      e.on("a", f); e.on("a", g); e.on("a", f); const said = [e.off("a", f), e.emit("a"), e.off("a", f), e.off("a", f), e.off("b", g)]; e.once("a", f); said.push(e.off("a", f));
      const remove = e.on("a", f); remove(); remove(); said.push(e.emit("a")); return [said, seen]`;
    assert.deepStrictEqual(result(body), [[true, 2, true, false, false, true, 1], ['f', 'g', 'g']]);
  },
  while_it_emits() {
    const body = `const { Emitter } = require("./emitter.js"); const e = new Emitter(); const seen = []; const last = () => seen.push("last");
      e.on("a", () => { seen.push("first"); e.off("a", last); e.on("a", () => seen.push("new")); }); e.on("a", () => seen.push("second")); e.on("a", last);
      return [e.emit("a"), seen.slice(), e.emit("a"), seen.length]`;
    assert.deepStrictEqual(result(body), [2, ['first', 'second'], 3, 5]);
  },
  errors() {
    const body = `const { Emitter } = require("./emitter.js"); const e = new Emitter(); const seen = [];
      e.on("a", () => { throw new Error("one"); }); e.on("a", () => seen.push(1)); e.once("a", () => { throw new Error("two"); }); e.on("a", () => seen.push(2));
      let said; try { e.emit("a"); } catch (error) { said = error.message; } let again; try { e.emit("a"); } catch (error) { again = error.message; }
      return [said, again, seen, require("node:fs").readFileSync("emitter.js", "utf8").includes("events")]`;
    assert.deepStrictEqual(result(body), ['one', 'one', [1, 2, 1, 2], false]);
  },
};

Promise.resolve(tests[process.argv[2]]()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
