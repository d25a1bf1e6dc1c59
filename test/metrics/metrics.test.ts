import { execFileSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { Metrics } from '../../src/metrics/metrics.js';
import { parseExposition, problemsOf } from './exposition.js';

const PROMTOOL = process.env['HOLDFAST_TEST_PROMTOOL'];
const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('promtool');

describe('metrics of a process', () => {
  const metrics = new Metrics();
  afterAll(() => metrics.close());

  const samplesOf = async (name: string) =>
    parseExposition((await metrics.expose()).text).find((family) => family.name === name)?.samples ?? [];

  it('are whole in the text format, whatever names models, tools and agents have', async () => {
    const odd = 'a "quoted" \\ name\nwith {braces}, = and ü';
    metrics.attempted({ model: odd, outcome: 'answered', seconds: 0.3 });
    metrics.answered({ model: odd, inputTokens: 5, outputTokens: 7, usd: 0.25 });
    metrics.answered({ model: 'local/free', inputTokens: 1, outputTokens: 1, usd: null });
    metrics.executed(odd, 'output', 0.01);
    metrics.runStarted(odd);
    const ended = { agent: odd, status: 'failed', seconds: 2, result: 'failure', reward: -0.5, steps: 3, tokens: 12 };
    metrics.runEnded(ended);
    metrics.runEnded({ ...ended, reward: null });
    metrics.dispatched(0.02);
    metrics.takenOver(3);
    metrics.requested({ method: 'GET', route: '/api/v1/runs/{id}', status: 200, seconds: 0.004 });
    metrics.databaseFailed('away');
    const { contentType, text } = await metrics.expose();
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
    const families = parseExposition(text);
    expect(problemsOf(families)).toEqual([]);
    expect(families.every(({ name }) => name.startsWith('holdfast_'))).toBe(true);
    expect(await samplesOf('holdfast_llm_tokens_total')).toContainEqual({
      ...{ name: 'holdfast_llm_tokens_total', labels: { model: odd, type: 'output' }, value: 7 },
    });
    expect(await samplesOf('holdfast_llm_cost_dollars_total')).toMatchObject([{ value: 0.25 }]);
    expect(await samplesOf('holdfast_llm_unpriced_requests_total')).toMatchObject([
      { labels: { model: 'local/free' } },
    ]);
    const rewards = (await samplesOf('holdfast_trajectory_reward')).filter(({ name }) => /_(sum|count)$/.test(name));
    expect(rewards.map(({ value }) => value)).toEqual([-0.5, 1]);
    expect(await samplesOf('holdfast_segments_recovered_total')).toMatchObject([{ value: 3 }]);
  });

  it('keep no more names apart than there is room for', async () => {
    for (let n = 0; n < 500; n++) metrics.executed(`tool_${n}`, 'output', 0.1);
    metrics.executed('x'.repeat(10_000), 'output', 0.1);
    metrics.executed('tool_0', 'output', 0.1);
    const calls = await samplesOf('holdfast_tool_calls_total');
    expect(new Set(calls.map(({ labels }) => labels['tool'])).size).toBe(101);
    expect(calls.find(({ labels }) => labels['tool'] === 'other')?.value).toBe(402);
    expect(calls.find(({ labels }) => labels['tool'] === 'tool_0')?.value).toBe(2);
  });

  it('say what the process takes of its machine', async () => {
    const value = async (name: string) => (await samplesOf(`holdfast_${name}`))[0]?.value ?? Number.NaN;
    expect(await value('worker_memory_usage_bytes')).toBeGreaterThan(10_000_000);
    expect(await value('worker_cpu_usage_ratio')).toBeLessThanOrEqual(1);
    const before = await value('process_cpu_seconds_total');
    for (const until = performance.now() + 30; performance.now() < until; );
    expect(await value('process_cpu_seconds_total')).toBeGreaterThan(before);
  });

  it('the reader of the tests finds what is wrong', () => {
    const families = parseExposition(
      '# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n# HELP b x\n# TYPE b counter\nb -1\n# HELP c_total x\n# TYPE c_total gauge\nc_total 1\n' +
        '# HELP d x\n# TYPE d histogram\nd_bucket{le="1"} 3\nd_bucket{le="+Inf"} 2\nd_sum 1\nd_count 2\n',
    );
    expect(problemsOf(families)).toEqual([
      'a_ms: it is not in a base unit',
      'b: a counter ends with _total',
      'b: a counter is -1',
      'c_total: only a counter ends with _total',
      'd: the histogram {} is not whole',
    ]);
    for (const wrong of [
      'a 1',
      'a 1\n',
      '# HELP a x\n# TYPE a gauge\na{b="1} 1\n',
      '# HELP a x\n# TYPE a gauge\na one\n',
    ])
      expect(() => parseExposition(wrong), wrong).toThrow();
  });

  const whyNot = 'HOLDFAST_TEST_PROMTOOL is not set: no promtool (.ci/promtool gets one)';
  if (PROMTOOL === undefined && REQUIRED) throw new Error(`${whyNot}, and HOLDFAST_TEST_REQUIRE names it`);
  it.skipIf(PROMTOOL === undefined)(
    `promtool has nothing to say${PROMTOOL === undefined ? ` (${whyNot})` : ''}`,
    async () => {
      const { text } = await metrics.expose();
      expect(execFileSync(PROMTOOL ?? '', ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe('');
    },
  );
});
