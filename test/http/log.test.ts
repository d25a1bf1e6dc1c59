import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCheckpoint } from '../../src/core/evidence/checkpoint.js';
import { anchoredReport, consistencyView, logEntryView, logReport, logView } from '../../src/core/evidence/log-view.js';
import { verifyConsistency } from '../../src/core/evidence/merkle.js';
import { proofBundle } from '../../src/core/evidence/proof.js';
import { parsePublicKey } from '../../src/core/evidence/signed-note.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { runView } from '../../src/core/runs/run.js';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { runHere } from '../cli/in-process.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, expectProblem, openDoor, TOKENS } from './door.js';

/** The log over all runs and proofs of one, as someone reads and checks them who has a public key alone. */
describeEachDatabase('the log over all runs over HTTP', (kind) => {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-log-'));
  const LOG = '/api/v1/log';
  let door: Door;
  beforeAll(async () => {
    const signingKeyFile = join(scratch, 'key');
    makeLogKey(signingKeyFile, 'holdfast/http');
    door = await openDoor(kind, undefined, { signingKeyFile, evidence: { intervalMs: 3_600_000 } });
  });
  afterAll(async () => {
    await door.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  const run = async (): Promise<string> => {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'echo', input: 'go' });
    const { id } = runView.parse(json);
    expect(runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json).status).toBe('completed');
    return id;
  };
  const sign = async () => logView.parse((await door.ask('adam', 'POST', `${LOG}/checkpoint`)).json);

  test('a checkpoint is signed when an operator says so, and everybody reads it', async () => {
    const id = await run();
    expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}/proof`), 'run_not_anchored');
    expectProblem(await door.ask('vera', 'POST', `${LOG}/checkpoint`), 'forbidden');
    const signed = await sign();
    expect(signed).toMatchObject({ entries: 1, signs: true, problem: null, checkpoint: { size: 1 } });
    expect(logView.parse((await door.ask('vera', 'GET', `${LOG}/checkpoint`)).json)).toEqual(signed);
    const key = parsePublicKey(signed.keys[0] ?? '');
    expect(key && openCheckpoint(signed.checkpoint?.note ?? '', [key])).toMatchObject({
      origin: 'holdfast/http',
      size: 1,
    });
    const report = anchoredReport.parse((await door.ask('vera', 'POST', `/api/v1/runs/${id}/verify`, {})).json);
    expect(report).toMatchObject({ ok: true, anchor: { size: 1, seq: report.events, outside: true, why: null } });
  });

  test('two checkpoints are shown to be of one log', async () => {
    const before = await sign();
    await run();
    const after = await sign();
    const sizes = { earlier: before.entries, size: after.entries };
    const asked = `${LOG}/consistency?earlier=${sizes.earlier}&size=${sizes.size}`;
    const { proof } = consistencyView.parse((await door.ask('vera', 'GET', asked)).json);
    const [earlierRoot = '', root = ''] = [before.checkpoint?.root, after.checkpoint?.root];
    expect(verifyConsistency(proof, { ...sizes, earlierRoot, root })).toBe(true);
    expect(verifyConsistency(proof, { ...sizes, earlierRoot: root, root })).toBe(false);
    for (const query of [
      '',
      '?earlier=1',
      '?earlier=2&size=1',
      '?earlier=0&size=1',
      '?earlier=1&size=99',
      '?earlier=x&size=1',
    ])
      expectProblem(await door.ask('vera', 'GET', `${LOG}/consistency${query}`), 'invalid_request');
  });

  test('entries are read page by page, and of another tenant the leaves alone', async () => {
    const { entries } = await sign();
    const all: unknown[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const { json } = await door.ask('vera', 'GET', `${LOG}/entries?limit=1&cursor=${cursor}`);
      const page: { items: unknown[]; nextCursor: string | null } = pageOf(logEntryView).parse(json);
      all.push(...page.items);
      cursor = page.nextCursor;
    }
    expect(all).toHaveLength(entries);
    const { items } = pageOf(logEntryView).parse((await door.ask('zoe', 'GET', `${LOG}/entries`)).json);
    expect(items.map(({ leaf }) => leaf)).toEqual(all.map((one) => logEntryView.parse(one).leaf));
    expect(items.every(({ entry }) => entry === null)).toBe(true);
    for (const query of ['?cursor=x', '?cursor=-1', '?limit=0', '?more=1'])
      expectProblem(await door.ask('vera', 'GET', `${LOG}/entries${query}`), 'invalid_request');
  });

  test('the whole log is verified, by an operator', async () => {
    expectProblem(await door.ask('zoe', 'POST', `${LOG}/verify`), 'forbidden');
    const { entries } = await sign();
    const report = logReport.parse((await door.ask('adam', 'POST', `${LOG}/verify`)).json);
    expect(report).toMatchObject({ ok: true, entries, size: entries, outside: true, problems: [] });
  });

  test('a proof is checked by someone who has it and the public key, and nothing else', async () => {
    const id = await run();
    const { keys } = await sign();
    const whole = await door.ask('vera', 'GET', `/api/v1/runs/${id}/proof`);
    const bundle = proofBundle.parse(whole.json);
    const held = proofBundle.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}/proof?payloads=false`)).json);
    expect(whole.text).toContain('hello');
    expect(JSON.stringify(held)).not.toContain('hello');
    expectProblem(await door.ask('zoe', 'GET', `/api/v1/runs/${id}/proof`), 'run_unknown');
    expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}/proof?payloads=maybe`), 'invalid_request');
    const checked = async (proof: unknown) => {
      const path = join(scratch, 'proof.json');
      writeFileSync(path, JSON.stringify(proof));
      return runHere(['proof', 'check', path, '--key', keys[0] ?? ''], {});
    };
    for (const proof of [bundle, held]) expect(await checked(proof)).toMatchObject({ code: 0 });
    const [first, ...rest] = bundle.events;
    const forged = { ...bundle, events: [{ ...first, at: '2001-01-01T00:00:00.000Z' }, ...rest] };
    expect((await checked(forged)).code).not.toBe(0);
    expect((await checked({ ...bundle, events: bundle.events.slice(0, -1) })).code).not.toBe(0);
  });

  test('what the commands print is what the routes say', async () => {
    const id = await run();
    const env = { HOLDFAST_URL: door.http.url, HOLDFAST_TOKEN: TOKENS.adam.token };
    const signed = await runHere(['checkpoint', '--now'], env);
    const log = logView.parse((await door.ask('vera', 'GET', `${LOG}/checkpoint`)).json);
    expect(signed, signed.stderr).toMatchObject({ code: 0 });
    for (const line of log.checkpoint?.note.trim().split('\n') ?? []) expect(signed.stdout).toContain(line);
    expect((await runHere(['checkpoint', '--verify'], env)).code).toBe(0);
    const verified = await runHere(['verify', id, '--json'], env);
    expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true, anchor: { size: log.entries } });
    const out = join(scratch, 'from-terminal.json');
    expect((await runHere(['proof', 'export', id, '--out', out], env)).code).toBe(0);
    expect((await runHere(['proof', 'check', out, '--key', log.keys[0] ?? ''], {})).code).toBe(0);
  });
});
