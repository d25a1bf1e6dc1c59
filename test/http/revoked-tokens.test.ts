import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runView } from '../../src/core/run.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, expectProblem, openDoor, TOKENS } from './door.js';
import { openStream } from './event-stream.js';

describeEachDatabase('a token that is taken away', (kind) => {
  let door: Door;
  let id = '';
  beforeAll(async () => {
    door = await openDoor(kind);
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'slow', input: 'go' });
    ({ id } = runView.parse(json));
  });
  beforeEach(() => door.http.setTokens(Object.values(TOKENS)));
  afterAll(() => door.close());

  const without = (token: object) => Object.values(TOKENS).filter((one) => one !== token);

  test('is refused, and others are not', async () => {
    door.http.setTokens(without(TOKENS.vera));
    expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}`), 'unauthenticated');
    expect((await door.ask('otto', 'GET', `/api/v1/runs/${id}`)).status).toBe(200);
  });

  test('ends its streams, and no others', async () => {
    const [ofVera, ofOtto] = [
      await openStream(door, 'vera', `/api/v1/runs/${id}/events`),
      await openStream(door, 'otto', `/api/v1/runs/${id}/events`),
    ];
    let ottoEnded = false;
    void ofOtto.ended.then(() => {
      ottoEnded = true;
    });
    door.http.setTokens(without(TOKENS.vera));
    await ofVera.ended;
    expect(ofVera.messages.map(({ event }) => event)).not.toContain('end');
    expect((await door.ask('otto', 'GET', `/api/v1/runs/${id}`)).status).toBe(200);
    expect(ottoEnded).toBe(false);
    ofOtto.close();
  });

  test('ends its waits, which answer nothing', async () => {
    const waiting = door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=60`);
    const counted = async () => (await door.ask('otto', 'GET', `/api/v1/runs/${id}`)).status;
    expect(await counted()).toBe(200);
    door.http.setTokens(without(TOKENS.vera));
    expectProblem(await waiting, 'unauthenticated');
  });

  test('may come back with another role', async () => {
    door.http.setTokens([...without(TOKENS.vera), { ...TOKENS.vera, role: 'operator' }]);
    const { status } = await door.ask('vera', 'POST', '/api/v1/runs', { agent: 'echo', input: 'go' });
    expect(status).toBe(202);
  });
});
