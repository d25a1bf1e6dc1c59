import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { covered, type Measured, percentilesOf, reportOf } from '../../src/cli/bench/report.js';
import { SLOW } from '../harness/slow.js';
import { Program } from './program.js';

const CONFIG = `
import { Agent } from '@openai/agents';
import { defineAgent, defineTool } from 'holdfast';
import { call, say, scriptedModel } from 'holdfast/testing';
import { z } from 'zod';

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), approval: true },
  execute: async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return 'paid';
  },
});
const model = scriptedModel([[call('pay', {})], [say('Done.')]]);
export default { agents: [defineAgent({ agent: new Agent({ name: 'payer', model, tools: [pay] }), grants: ['tool:call:*'] })] };
`;

describe('the numbers of a benchmark', () => {
  it('count time that several steps share once', () => {
    const spans = [
      { from: 10, to: 20 },
      { from: 0, to: 5 },
      { from: 12, to: 14 },
      { from: 18, to: 30 },
    ];
    expect(covered(spans)).toBe(25);
    expect(covered([])).toBe(0);
  });

  it('are percentiles by the nearest rank', () => {
    const values = Array.from({ length: 100 }, (_, at) => 100 - at);
    expect(percentilesOf(values)).toEqual({ p50: 50, p95: 95 });
    expect(percentilesOf([7])).toEqual({ p50: 7, p95: 7 });
    expect(percentilesOf([])).toEqual({ p50: 0, p95: 0 });
  });

  it('tell how runs ended, and what a step costs beside model and tool', () => {
    const run = (status: string, workedMs: number): Measured => ({
      ...{ status, ms: workedMs + 10, workedMs },
      steps: [
        { from: 0, to: 30 },
        { from: 40, to: 60 },
      ],
    });
    const given = { agent: 'a', database: 'embedded', concurrency: 1, tookMs: 500, grownBytes: 3000 } as const;
    expect(reportOf(given, [run('completed', 70), run('completed', 90), run('failed', 50)])).toEqual({
      ...{ agent: 'a', database: 'embedded', concurrency: 1, seconds: 0.5, runs: 3, steps: 6 },
      ends: { completed: 2, failed: 1 },
      ...{ runsPerSecond: 6, stepsPerSecond: 12, bytesPerRun: 1000 },
      ...{ runMs: { p50: 80, p95: 100 }, stepOverheadMs: { p50: 10, p95: 20 } },
    });
  });
});

it.runIf(SLOW)(
  "runs of one's own agent are measured, the time of its tool apart from the overhead",
  {
    timeout: 120_000,
  },
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-config-'));
    const config = join(dir, 'holdfast.config.mjs');
    writeFileSync(config, CONFIG);
    try {
      const args = ['bench', 'payer', '--runs', '3', '--json'];
      const { code, stdout } = await new Program(args, { cwd: dir, env: { HOLDFAST_CONFIG: config } }).ended;
      const report = JSON.parse(stdout);
      expect(report).toMatchObject({ agent: 'payer', database: 'embedded', runs: 3, ends: { completed: 3 }, steps: 9 });
      expect(report.runMs.p50).toBeGreaterThanOrEqual(100);
      expect(report.stepOverheadMs.p50).toBeGreaterThan(0);
      expect(report.stepOverheadMs.p50 * 3).toBeLessThan(report.runMs.p95);
      expect(report.bytesPerRun).toBeGreaterThan(0);
      expect(code).toBe(0);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
);
