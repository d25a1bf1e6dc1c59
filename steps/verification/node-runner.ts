import { JUDGE } from './node-judge.js';
import { PEER_ASKS } from './node-peer.js';
import { PROGRAM } from './node-program.js';
import { PEER_VALUES } from './node-values.js';

/**
 * The runners that load the program under test into the process of the tests: `node:test`, jest and `go test`. That process belongs to the
 * agent's user. It reads the sentinel from its input before it loads anything of the workspace, closes that, and prints the sentinel last.
 */

/** Loaded before everything else. What the program could replace of assertions and of the runner is frozen. */
const BEGIN = `
import assert from 'node:assert';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import test from 'node:test';

const text = fs.readFileSync(0, 'latin1').trim();
fs.closeSync(0);
fs.openSync('/dev/null', 'r');
globalThis.holdfast = { sentinel: text, writeSync: fs.writeSync };
for (const one of [assert, assert.strict, assert.AssertionError, test, test.mock]) Object.freeze(one);
syncBuiltinESMExports();
// Makes the runner ask for the reporter now.
test.after(() => {});
while (globalThis.holdfast !== undefined) await new Promise((done) => setImmediate(done));
`;

const REPORTER = String.raw`
const { sentinel, writeSync } = globalThis.holdfast;
delete globalThis.holdfast;
let begun = false;

async function* report(source) {
  if (begun) return;
  begun = true;
  let passed = 0, failed = 0, skipped = 0;
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout' || data?.details?.type === 'suite') continue;
    if (type === 'test:fail' && data.todo === undefined) {
      failed += 1;
      writeSync(2, 'not ok ' + data.name + '\n' + (data.details?.error?.stack ?? '') + '\n');
    } else if (type === 'test:pass' || type === 'test:fail') {
      if (data.skip !== undefined || data.todo !== undefined) skipped += 1;
      else passed += 1;
    }
  }
  writeSync(1, '\n' + sentinel + ' ' + passed + ' ' + failed + ' ' + skipped + '\n');
}
export { report as default };
`;

const MAIN = `
import { pathToFileURL } from 'node:url';
for (const path of process.argv.slice(2)) await import(pathToFileURL('/tmp/tests/' + path).href);
`;

export const NODE_RUNNER = { 'begin.mjs': BEGIN, 'reporter.mjs': REPORTER, 'main.mjs': MAIN } as const;

const MAIN_APART = `
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const apart = createRequire(import.meta.url)('./apart.cjs');
for (const path of process.argv.slice(2)) await import(pathToFileURL('/tmp/tests/' + path).href);
apart.loaded();
`;

/** The same where the program is in a process of its own, which reads no sentinel and no test. */
export const NODE_APART_RUNNER = {
  ...{ 'begin.mjs': BEGIN, 'reporter.mjs': REPORTER, 'main.mjs': MAIN_APART },
  ...{ 'apart.cjs': PEER_ASKS + PEER_VALUES + JUDGE, 'program.cjs': PEER_ASKS + PEER_VALUES + PROGRAM },
} as const;

/** jest runs tests in processes of their own, and this in the one that loads nothing of the workspace. */
const JEST_REPORTER = String.raw`
const fs = require('node:fs');
const { writeSync } = fs;
const sentinel = fs.readFileSync(0, 'latin1').trim();
fs.closeSync(0);
fs.openSync('/dev/null', 'r');

module.exports = class {
  onTestResult(test, { failureMessage }) {
    if (failureMessage) writeSync(2, failureMessage + '\n');
  }
  onRunComplete(contexts, found) {
    const failed = found.numFailedTests + found.numRuntimeErrorTestSuites;
    const skipped = found.numPendingTests + found.numTodoTests;
    writeSync(1, '\n' + sentinel + ' ' + found.numPassedTests + ' ' + failed + ' ' + skipped + '\n');
  }
};
`;

/** Before each file of tests: the program cannot replace what `expect` knows, nor what makes tests. */
const JEST_SETUP = `
const { matchers } = globalThis[Symbol.for('$$jest-matchers-object')];
for (const name of Object.keys(matchers)) Object.defineProperty(matchers, name, { writable: false, configurable: false });
Object.freeze(expect);
for (const name of ['expect', 'test', 'it', 'describe', 'xtest', 'xit', 'fit', 'xdescribe', 'fdescribe'])
  Object.defineProperty(globalThis, name, { value: globalThis[name], writable: false, configurable: false });
`;

export const JEST_RUNNER = { 'reporter.cjs': JEST_REPORTER, 'setup.cjs': JEST_SETUP } as const;

/** The options of jest: nothing of the workspace configures it, and it loads no test into its own process. */
export const jestOptions = (runner: string, tests: string, workdir: string): readonly string[] => [
  '--config',
  JSON.stringify({
    ...{ rootDir: tests, modulePaths: [workdir], testMatch: ['**/*'] },
    ...{ setupFilesAfterEnv: [`${runner}/setup.cjs`], workerIdleMemoryLimit: '8GB' },
  }),
  ...['--reporters', `${runner}/reporter.cjs`, '--no-cache', '--maxWorkers', '2', '--runTestsByPath'],
];

/** What is compiled into each package of Go that is tested. */
const goMain = (name: string): string => `package ${name}

import (
	"bufio"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	line, _ := bufio.NewReader(os.Stdin).ReadString('\\n')
	os.Stdin.Close()
	code := m.Run()
	os.Stdout.WriteString("\\n" + line)
	os.Exit(code)
}
`;

const PACKAGE = /^package\s+([\p{L}_][\p{L}\p{Nd}_]*)/mu;
const GO_TEST = /^func\s+(Test[\p{L}\p{Nd}_]*)\s*\(/gmu;

/** The files of the tests in Go, by their paths below the directory of the tests. */
export interface GoSuite {
  /** Of the runner. */
  readonly files: Readonly<Record<string, string>>;
  readonly packages: readonly string[];
  readonly names: readonly string[];
}

/** How files of tests are compiled into the packages of the workspace. Files of the workspace of the same names are not seen. */
export function goSuite(
  sources: Readonly<Record<string, string>>,
  asked: readonly string[],
  { runner, tests, workdir }: { readonly runner: string; readonly tests: string; readonly workdir: string },
): GoSuite {
  const files: Record<string, string> = {};
  const replace: Record<string, string> = {};
  const names = new Set<string>();
  const packages = new Map<string, string>();
  for (const [path, text] of Object.entries(sources)) {
    if (!path.endsWith('.go')) continue;
    replace[`${workdir}/${path}`] = `${tests}/${path}`;
    if (!asked.includes(path)) continue;
    const directory = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';
    packages.set(directory, PACKAGE.exec(text)?.[1] ?? 'main');
    for (const [, name] of text.matchAll(GO_TEST)) if (name !== undefined && name !== 'TestMain') names.add(name);
  }
  for (const [index, [directory, name]] of [...packages].entries()) {
    files[`main${index}.go`] = goMain(name);
    replace[`${workdir}/${directory}/zz_holdfast_test.go`.replace('/./', '/')] = `${runner}/main${index}.go`;
  }
  files['overlay.json'] = JSON.stringify({ Replace: replace });
  return { files, packages: [...packages.keys()], names: [...names] };
}
