import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { proofBundle } from '../../src/core/evidence/proof.js';
import { runView } from '../../src/core/runs/run.js';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { knowSecret } from '../../src/models/secrets/known-secrets.js';
import { checkProof } from '../../src/proof/verify.mjs';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, openDoor, TOKENS } from './door.js';
import { openStream } from './event-stream.js';

/** A secret that is in the log already, since it became known later, or since a caller wrote it into an input. */

const LATER = 'Lt83mZq0LpXw72Tb"\\/é';
const SHOWN = /token-of-adam|Lt83mZq0|TOKEN-OF-ADAM|746f6b656e2d6f662d6164616d/;

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-answers-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describeEachDatabase('an answer', (kind) => {
  let door: Door;
  let id = '';
  beforeAll(async () => {
    const signingKeyFile = join(scratch, `key-${kind}`);
    makeLogKey(signingKeyFile, 'holdfast/test');
    door = await openDoor(kind, undefined, { signingKeyFile });
    const { token } = TOKENS.adam;
    const input = `${LATER} ${token} ${token.toUpperCase()} ${Buffer.from(token).toString('hex')}`;
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'echo', input, metadata: { of: token } });
    ({ id } = runView.parse(json));
    await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
    await door.engine.checkpointNow();
    knowSecret(LATER);
  });
  afterAll(() => door.close());

  it.each([
    ['a run', (run: string) => `/api/v1/runs/${run}`],
    ['a list of runs', () => '/api/v1/runs'],
    ['events', (run: string) => `/api/v1/runs/${run}/events`],
    ['a trajectory', (run: string) => `/api/v1/trajectories/${run}`],
    ['an error', () => `/api/v1/runs/${encodeURIComponent(TOKENS.adam.token)}`],
  ])('that is %s has no secret', async (_title, pathOf) => {
    const { text } = await door.ask('vera', 'GET', pathOf(id));
    expect(text).not.toMatch(SHOWN);
    expect(text.includes('[redacted]')).toBe(true);
  });

  it('that is a stream of events has no secret', async () => {
    const stream = await openStream(door, 'vera', `/api/v1/runs/${id}/events`);
    await stream.ended;
    const text = JSON.stringify(stream.messages);
    expect(text).not.toMatch(SHOWN);
    expect(text).toContain('[redacted]');
  });

  it('that is a proof withholds what has a secret, and proves the rest', async () => {
    const { text, json } = await door.ask('vera', 'GET', `/api/v1/runs/${id}/proof`);
    expect(text).not.toMatch(SHOWN);
    expect(text).not.toContain('[redacted]');
    const bundle = proofBundle.parse(json);
    expect(bundle.events[0]).not.toHaveProperty('data');
    expect(bundle.events.at(-1)).toHaveProperty('data');
    expect(checkProof(text, bundle.keys)).toMatchObject({ ok: true, problem: null });
  });
});
