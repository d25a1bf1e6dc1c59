import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readLedger } from './ledger.js';

/**
 * `npm run crash`: tries the instants of the crash matrix that have not passed yet, for so many minutes, and says how far it has come.
 * The same command goes on from there; an instant that failed is tried again.
 */
const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    stride: { type: 'string', default: '1' },
    shard: { type: 'string', default: '1/1' },
    workers: { type: 'string', default: '2' },
    ledger: { type: 'string', default: '.crash-ledger.jsonl' },
    only: { type: 'string', default: 'test/crash' },
    anew: { type: 'boolean', default: false },
  },
});

const wrong = (name: string, expected: string): never => {
  console.error(`--${name} is ${options[name as keyof typeof options]}; expected ${expected}.`);
  process.exit(2);
};
const [shard = 0, shards = 0] = options.shard.split('/').map(Number);
if (!(Number(options.minutes) > 0)) wrong('minutes', 'more than 0');
if (!(Number.isSafeInteger(Number(options.stride)) && Number(options.stride) > 0)) wrong('stride', '1 or more');
if (!(Number.isSafeInteger(Number(options.workers)) && Number(options.workers) > 0)) wrong('workers', '1 or more');
if (!(Number.isSafeInteger(shard) && Number.isSafeInteger(shards) && shard >= 1 && shard <= shards))
  wrong('shard', 'a part and their number, such as 2/8');

const ledger = resolve(options.ledger);
if (options.anew) rmSync(ledger, { force: true });
// Without npx between them, so that a signal reaches it.
const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));
const tests = spawn(
  process.execPath,
  [vitest, 'run', `--maxWorkers=${options.workers}`, '--reporter=dot', options.only],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      HOLDFAST_TEST_SLOW: '1',
      HOLDFAST_CRASH_STRIDE: options.stride,
      HOLDFAST_CRASH_LEDGER: ledger,
      HOLDFAST_CRASH_SHARD: options.shard,
      HOLDFAST_CRASH_UNTIL: String(Date.now() + Number(options.minutes) * 60_000),
    },
  },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal));
const code = await new Promise<number>((done) => tests.once('close', (ended) => done(ended ?? 1)));

interface Suite {
  instants: number;
  readonly last: Map<string, boolean>;
}
const suites = new Map<string, Suite>();
const commits = new Set<string>();
for (const line of readLedger(ledger)) {
  const suite = suites.get(line.suite) ?? { instants: 0, last: new Map() };
  suites.set(line.suite, suite);
  if ('instants' in line) suite.instants = line.instants;
  else {
    suite.last.set(line.instant, line.passed);
    commits.add(line.commit);
  }
}
const table = [...suites]
  .toSorted(([a], [b]) => a.localeCompare(b))
  .map(([suite, { instants, last }]) => {
    const passed = [...last.values()].filter(Boolean).length;
    return { suite, instants, passed, failed: last.size - passed, left: Math.max(0, instants - last.size) };
  });
console.table(table);
for (const [suite, { last }] of suites)
  for (const [instant, passed] of last) if (!passed) console.log(`failed: ${suite}: ${instant}`);
const left = table.reduce((sum, row) => sum + row.left + row.failed, 0);
console.log(
  `At ${[...commits].join(', ') || 'no commit'}. ${left} of stride ${options.stride} have not passed; the same command goes on.`,
);
process.exit(code);
