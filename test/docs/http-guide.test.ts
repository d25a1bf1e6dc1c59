import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer, type Door, expectProblem } from '../http/door.js';
import { openStage } from '../http/stage.js';
import { pageText, section } from './pages.js';

/** The requests of docs/agents/http-guide.md are sent as the page has them, to a server with an agent that pays. */

const page = pageText('docs/agents/http-guide.md');
const started = section(page, '## Start a run and decide its call');

/** The commands of a section, each on one line. */
const commandsOf = (text: string): string[] =>
  [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block = '']) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .filter((line) => line.startsWith('curl '));

const commandTo = (text: string, part: string): string => {
  const found = commandsOf(text).find((command) => command.includes(part));
  if (found === undefined) throw new Error(`The page has no request to "${part}".`);
  return found;
};

let door: Door;
beforeAll(async () => {
  door = (await openStage('pglite')).door;
});
afterAll(() => door.close());

const IDS = z.object({ id: z.string() });
const PAUSED = z.object({ id: z.string(), status: z.literal('paused'), interruptions: z.tuple([z.string()]) });

/** Sends what a curl command sends. Throws for an option that the page does not use. */
async function sent(command: string, variables: Record<string, string>): Promise<Response> {
  const words = [...command.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) =>
      single ?? (double ?? bare ?? '').replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? ''),
  );
  const request = { url: '', method: '', body: '', headers: new Headers() };
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const value = words[at + 1] ?? '';
    if (word === '-s' || word === '-sN') continue;
    if (!word.startsWith('-')) {
      request.url = `${door.http.url}${word.replace('localhost:3000', '')}`;
      continue;
    }
    at += 1;
    if (word === '-X') request.method = value;
    else if (word === '-d') request.body = value;
    else if (word === '-H')
      request.headers.set(value.slice(0, value.indexOf(':')), value.slice(value.indexOf(':') + 2));
    else throw new Error(`The option "${word}" of curl is new: send what it sends.`);
  }
  const method = request.method || (request.body === '' ? 'GET' : 'POST');
  return fetch(request.url, { method, headers: request.headers, body: request.body || null });
}

const tokenOf = (actor: 'adam'): string => bearer(actor)['Authorization']?.replace('Bearer ', '') ?? '';
const asAdam = (variables: Record<string, string> = {}) => ({ TOKEN: tokenOf('adam'), ...variables });

async function paused(): Promise<{ RUN: string; ID: string }> {
  const { json } = await door.ask('adam', 'POST', '/api/v1/runs', { agent: 'payer', input: 'go' });
  const answer = await sent(commandTo(started, 'wait=60'), asAdam({ RUN: IDS.parse(json).id }));
  const { id, interruptions } = PAUSED.parse(await answer.json());
  return { RUN: id, ID: interruptions[0] };
}

it('a run starts once under its key, pauses, is approved and completes', async () => {
  const start = commandTo(started, '/api/v1/runs ');
  const answer = await sent(start, asAdam());
  expect(answer.status).toBe(202);
  const { id: RUN } = IDS.parse(await answer.json());
  expect(await (await sent(start, asAdam())).json()).toMatchObject({ id: RUN });
  const other = { agent: 'payer', input: 'Pay another.' };
  const reused = await door.ask('adam', 'POST', '/api/v1/runs', other, { 'Idempotency-Key': '"expenses-july"' });
  expect(expectProblem(reused, 'idempotency_key_reused').status).toBe(422);

  const waited = PAUSED.parse(await (await sent(commandTo(started, 'wait=60'), asAdam({ RUN }))).json());
  const inbox = await sent(commandTo(started, 'status=pending'), asAdam({ RUN }));
  const [ID] = waited.interruptions;
  expect(await inbox.json()).toMatchObject({ items: [{ id: ID, digest: expect.stringMatching(/^sha256:/) }] });
  expect((await sent(commandTo(started, '/approve"'), asAdam({ ID }))).status).toBe(200);
  expect((await sent(commandTo(started, '/approve"'), asAdam({ ID }))).status).toBe(200);
  expectProblem(await door.ask('adam', 'POST', `/api/v1/interruptions/${ID}/reject`, {}), 'decision_conflict');
  const over = await sent(commandTo(started, 'wait=60'), asAdam({ RUN }));
  expect(await over.json()).toMatchObject({ status: 'completed' });
});

it('a decision with the digest of another interruption does not count', async () => {
  const { ID } = await paused();
  const digest = `sha256:${'0'.repeat(64)}`;
  expectProblem(await door.ask('adam', 'POST', `/api/v1/interruptions/${ID}/approve`, { digest }), 'digest_mismatch');
});

it('a rejection says why, and an approval replaces the arguments', async () => {
  const rejected = await sent(commandTo(started, '/reject"'), asAdam(await paused()));
  expect(await rejected.json()).toMatchObject({ status: 'rejected' });
  const { RUN, ID } = await paused();
  const edit = commandsOf(started).findLast((command) => command.includes('/approve"')) ?? '';
  expect(await (await sent(edit, asAdam({ ID }))).json()).toMatchObject({
    status: 'approved',
    decisions: [{ edit: { arguments: { to: 'alice', amount: 50 } } }],
  });
  const standing = await door.ask('adam', 'GET', `/api/v1/runs/${RUN}/standing-decisions`);
  expect(standing.json).toMatchObject({ items: [{ tool: 'pay' }] });
});

it('a stream has the messages that the page shows, and ends', async () => {
  const { RUN, ID } = await paused();
  await sent(commandTo(started, '/approve"'), asAdam({ ID }));
  const text = await (await sent(commandTo(page, '/events"'), asAdam({ RUN }))).text();
  const [, shown = ''] = /```text\n(retry: [\s\S]*?)```/.exec(page) ?? [];
  const [first = '', last = ''] = shown.trim().split(',…}');
  expect(
    text.replaceAll(/^: .*\n\n/gm, '').startsWith(first.replace('…:1', `${RUN}:1`).split(',"kind"')[0] ?? ''),
  ).toBe(true);
  expect(text).toContain('event: run.created\n');
  expect(text.trim().endsWith(last.trim())).toBe(true);
  expect(last).toContain('event: end');
});
