import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plannedKills } from '../../src/cli/crashtest/crash-test.js';
import { type CrashVerdict, judgeLife, type Lived } from '../../src/cli/crashtest/judge-life.js';
import { SLOW } from '../harness/slow.js';
import { Program } from './program.js';

/** An idempotent call, and an unsafe one that a person approves. */
const CONFIG = `
import { Agent } from '@openai/agents';
import { defineAgent, defineTool } from 'holdfast';
import { call, say, scriptedModel } from 'holdfast/testing';
import { z } from 'zod';

const tool = (name, effect, more = {}) =>
  defineTool({
    ...{ name, effect, description: name, input: z.object({}), output: z.string(), ...more },
    execute: () => name,
  });
const tools = [tool('count', 'idempotent'), tool('pay', 'unsafe', { approval: true })];
const model = scriptedModel([[call('count', {})], [call('pay', {})], [say('Done.')]]);
export default { agents: [defineAgent({ agent: new Agent({ name: '<payer>', model, tools }), grants: ['tool:call:*'] })] };
`;

type Moment = Lived['moments'][number];

const body = (tool: string, effect = 'unsafe', callId = tool): Moment[] => [
  { when: 'begins', callId, tool, effect },
  { when: 'ended', callId, tool, effect, output: null },
];
const END: Lived['end'] = { status: 'completed', code: null, output: 'done', verified: true, asked: [] };
const whole: Lived = { end: END, moments: [...body('look', 'pure'), ...body('pay')] };

describe('what came of a run whose process was killed', () => {
  it.each<[string, Lived | null, CrashVerdict]>([
    ['the same', whole, 'held'],
    ['a person was asked', { ...whole, end: { ...END, asked: ['pay'] } }, 'asked'],
    ['a pure body again', { ...whole, moments: [...whole.moments, ...body('look', 'pure')] }, 'repeated'],
    ['an unsafe body again', { ...whole, moments: [...whole.moments, ...body('pay')] }, 'doubled'],
    [
      'also after a person was asked',
      { end: { ...END, asked: ['pay'] }, moments: [...whole.moments, ...body('pay')] },
      'doubled',
    ],
    ['a call is missing', { ...whole, moments: body('look', 'pure') }, 'lost'],
    ['another status', { ...whole, end: { ...END, status: 'failed', code: 'tool_failed' } }, 'other_end'],
    ['another output', { ...whole, end: { ...END, output: 'else' } }, 'other_end'],
    ['a broken log', { ...whole, end: { ...END, verified: false } }, 'not_verified'],
    ['no end', null, 'stuck'],
  ])('%s', (_what, lived, verdict) => {
    expect(judgeLife(whole, lived, 'why').verdict).toBe(verdict);
  });

  it('names what a person should look at', () => {
    const moments = [...whole.moments, ...body('pay')];
    expect(judgeLife(whole, { ...whole, moments }).detail).toBe('pay (pay, unsafe): 2 times');
  });
});

describe('the moments of a crash test', () => {
  const statements = Array.from({ length: 100 }, (_, index) => `insert ${index}`);

  it('are before and after each body, and spread over all statements', () => {
    const planned = plannedKills(statements, whole, 24);
    expect(planned.slice(0, 4).map(({ name }) => name)).toEqual([
      'before the body of look',
      'after the body of look',
      'before the body of pay',
      'after the body of pay',
    ]);
    expect(planned.length).toBeGreaterThan(20);
    expect(planned.length).toBeLessThanOrEqual(24);
    expect(planned.at(-1)?.kill.index).toBeGreaterThan(90);
    expect(new Set(planned.map(({ kill }) => kill.when))).toEqual(new Set(['before', 'sent', 'after']));
  });

  it('are no more than was asked for', () => {
    const moments = Array.from({ length: 50 }, (_, index) => body('pay', 'unsafe', `c${index}`)).flat();
    for (const most of [1, 2, 7, 30, 1000])
      expect(plannedKills(statements, { moments }, most).length).toBeLessThanOrEqual(Math.max(most, 2));
  });
});

it.runIf(SLOW)(
  "an agent of one's own is killed, and the results are printed and written",
  { timeout: 400_000 },
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-crashtest-config-'));
    const junit = join(dir, 'crash.xml');
    const config = join(dir, 'holdfast.config.mjs');
    writeFileSync(config, CONFIG);
    try {
      const run = (args: readonly string[]) =>
        new Program(['crashtest', ...args], { cwd: dir, env: { HOLDFAST_CONFIG: config } }).ended;
      const { code, stdout } = await run(['<payer>', '--kills', '3', '--junit', junit]);
      expect(stdout).toContain('<payer>: completed without a crash, with 2 calls');
      expect(stdout.match(/ (held|repeated|asked) /g)).toHaveLength(3);
      expect(stdout).toContain('Killed 3 times, 0 failures.');
      expect(code).toBe(0);
      const xml = readFileSync(junit, 'utf8');
      expect(xml).toContain('failures="0"');
      expect(xml).toContain('classname="&lt;payer&gt;"');
      const unknown = await run(['none']);
      expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no agent "none"') });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
);
