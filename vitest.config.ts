import { defineConfig } from 'vitest/config';
import { LONG_FILES } from './test/harness/long-files.js';
import { LongestFirst } from './test/harness/longest-first.js';

/** Tests of pure functions: no database, process, network or disk. */
const UNIT = [
  'test/bench/*.test.ts',
  'test/core/**/*.test.ts',
  'test/engine/agents/agent-registry.test.ts',
  'test/engine/calls/thrown-text.test.ts',
  'test/engine/dbos/step-format.test.ts',
  'test/engine/models/deltas.test.ts',
  'test/engine/queue/looks.test.ts',
  'test/engine/workers/{running-segments,step-gate,worker-lease}.test.ts',
  'test/export/read-ahead.test.ts',
  'test/http/wire/{host,input}.test.ts',
  'test/models/{clean-deltas,function-model,model-failure,streamed-response}.test.ts',
  'test/models/routing/*.test.ts',
  'test/soak/slope.test.ts',
  'test/storage/database/pglite-statement.test.ts',
];

/** The same files, and more of them run: on PGlite alone, on the PostgreSQL that the environment names, or with what takes long. */
const rest = (): string => {
  if (process.env['HOLDFAST_TEST_SLOW'] === '1') return 'slow';
  return process.env['HOLDFAST_TEST_POSTGRES_URL'] === undefined ? 'integration' : 'postgres';
};

/** `quick`: all but the long files, as `npm test`; `long`: these alone; unset: every file, also by its name. */
const ONLY = process.env['HOLDFAST_TEST_ONLY'];

const unit = { extends: true as const, test: { name: 'unit', include: UNIT } };
const others = {
  extends: true as const,
  test: {
    name: rest(),
    include: ONLY === 'long' ? [...LONG_FILES] : ['test/**/*.test.ts'],
    exclude: ONLY === 'quick' ? [...UNIT, ...LONG_FILES] : UNIT,
  },
};

export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-setup.ts'],
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: ONLY === 'long' ? [others] : [unit, others],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // A busy machine is no reason to fail: what is waited for comes, or never does.
    expect: { poll: { timeout: 60_000 } },
    maxConcurrency: 2,
    pool: 'forks',
    // All processors are at work: threads that help to collect garbage would only wait for each other.
    execArgv: ['--single-threaded-gc'],
    // The libraries below take over a second to load: a process loads them once for all its files.
    isolate: false,
  },
});
