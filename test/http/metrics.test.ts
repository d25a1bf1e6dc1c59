import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runView } from '../../src/core/runs/run.js';
import { createHttpServer } from '../../src/http/server.js';
import { codes, pageText, rows, section } from '../docs/pages.js';
import { describeBothDatabasesSlowly } from '../harness/database.js';
import { type Family, parseExposition, problemsOf } from '../metrics/exposition.js';
import { bearer, collectingLog, type Door, expectProblem, openDoor, options } from './door.js';

const PROMTOOL = process.env['HOLDFAST_TEST_PROMTOOL'];

describeBothDatabasesSlowly('GET /api/v1/metrics', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  const scrape = async (): Promise<readonly Family[]> =>
    parseExposition((await door.ask('vera', 'GET', '/api/v1/metrics')).text);
  const sum = (families: readonly Family[], name: string, labels: Record<string, string> = {}): number =>
    (families.find((one) => one.name === `holdfast_${name}`)?.samples ?? [])
      .filter(
        (sample) =>
          !/_(bucket|sum)$/.test(sample.name) && Object.entries(labels).every(([key, is]) => sample.labels[key] === is),
      )
      .reduce((total, { value }) => total + value, 0);
  /** What the database says is at most five seconds old. */
  const poll = (look: (families: readonly Family[]) => number) =>
    expect.poll(async () => look(await scrape()), { timeout: 20_000, interval: 500 });

  async function run(agent: string): Promise<string> {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go' });
    const { id } = runView.parse(json);
    await door.ask('otto', 'GET', `/api/v1/runs/${id}?wait=20`);
    return id;
  }

  test('runs, models, tools, the queue and requests are counted', async () => {
    const paused = await run('payer');
    await run('echo');
    await run('rare');
    await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'rare', input: 'go' });
    const { json } = await door.ask('vera', 'GET', `/api/v1/interruptions?run=${paused}`);
    const [{ id }] = (json as { items: [{ id: string }] }).items;
    await poll((all) => sum(all, 'interruptions_pending', { kind: 'approval' })).toBe(1);
    await poll((all) => sum(all, 'runs', { status: 'paused' })).toBe(1);
    await poll((all) => sum(all, 'queue_depth')).toBe(1);
    await door.ask('anna', 'POST', `/api/v1/interruptions/${id}/approve`);
    await poll((all) => sum(all, 'runs_ended_total', { status: 'completed' })).toBe(3);
    await poll((all) => sum(all, 'runs', { status: 'paused' })).toBe(0);
    const all = await scrape();
    expect(problemsOf(all)).toEqual([]);
    expect({
      started: sum(all, 'runs_started_total'),
      requests: sum(all, 'llm_requests_total', { outcome: 'answered' }),
      latencies: sum(all, 'llm_latency_seconds'),
      unpriced: sum(all, 'llm_unpriced_requests_total'),
      calls: sum(all, 'tool_calls_total', { tool: 'pay', outcome: 'output' }),
      durations: sum(all, 'tool_duration_seconds', { tool: 'pay' }),
      lengths: sum(all, 'trajectory_length_steps'),
      waited: sum(all, 'dispatch_latency_seconds'),
      up: sum(all, 'database_up'),
      workers: sum(all, 'workers', { status: 'working' }),
      capacity: sum(all, 'worker_capacity_segments'),
      approved: sum(all, 'http_requests_total', { route: '/api/v1/interruptions/{id}/approve', code: '200' }),
    }).toEqual({
      ...{ started: 4, requests: 4, latencies: 4, unpriced: 4, calls: 1, durations: 1, lengths: 3, waited: 4 },
      ...{ up: 1, workers: 1, capacity: 32, approved: 1 },
    });
    // No id of anything, and no path of a request, is a label.
    const labels = all.flatMap(({ samples }) => samples.flatMap((sample) => Object.values(sample.labels)));
    expect(labels.filter((value) => /(run|int)_[0-9a-f]{32}/.test(value))).toEqual([]);
    if (PROMTOOL !== undefined) {
      const { text } = await door.ask('vera', 'GET', '/api/v1/metrics');
      expect(execFileSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe('');
    }
  });

  test('docs/operate/metrics.md has every metric with its type, and no other', async () => {
    const documented = rows(section(pageText('docs/operate/metrics.md'), '## Metrics')).map(
      ([name = '', type = '']) => [codes(name)[0], type],
    );
    const real = (await scrape()).map(({ name, type }) => [name, type]);
    expect(documented.toSorted()).toEqual(real.toSorted());
  });

  test('what is asked for by strangers makes no series of its own', async () => {
    for (const path of ['/nothing', '/api/v1/runs/x/y/z', '/api/v1/no']) await door.ask('vera', 'GET', path);
    await door.ask('vera', 'PATCH', '/api/v1/runs');
    const all = await scrape();
    expect(sum(all, 'http_requests_total', { route: 'none' })).toBe(3);
    expect(sum(all, 'http_requests_total', { method: 'other' })).toBe(1);
  });

  test('a viewer of the tenant of operators reads it, and no one of another one', async () => {
    expectProblem(await door.ask('zoe', 'GET', '/api/v1/metrics'), 'forbidden');
    expectProblem(await door.ask(null, 'GET', '/api/v1/metrics'), 'unauthenticated');
  });

  test('a worker without the API answers to Prometheus and to probes alone', async () => {
    const { log } = collectingLog();
    const http = await createHttpServer(door.engine, options(log, { serves: 'metrics' }));
    const ask = (path: string) => fetch(`${http.url}${path}`, { headers: bearer('vera') });
    try {
      expect(problemsOf(parseExposition(await (await ask('/api/v1/metrics')).text()))).toEqual([]);
      expect((await fetch(`${http.url}/livez`)).status).toBe(200);
      expect((await fetch(`${http.url}/api/v1/metrics`)).status).toBe(401);
      expect((await ask('/api/v1/runs')).status).toBe(404);
    } finally {
      await http.close(0);
    }
  });
});
