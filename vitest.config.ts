import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/harness/longest-first.js';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // A busy machine is no reason to fail: what is waited for comes, or never does.
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    maxConcurrency: 2,
    pool: 'forks',
    // All processors are at work: threads that help to collect garbage would only wait for each other.
    execArgv: ['--single-threaded-gc'],
    // The libraries below take over a second to load: a process loads them once for all its files.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
