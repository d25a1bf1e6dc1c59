import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../src/cli/client.js';
import type { RunView } from '../../src/index.js';

/** What a few people do all day, over HTTP: each shape is one errand from its begin to its end. */

export const STEADY_TOKEN = 'token-of-the-steady-soak-0123456789';
const WAIT_SECONDS = 30;
const PENDING = { status: 'pending', limit: 10 } as const;
/** So many errands at once, at most: what comes while they are under way waits for the next moment. */
const AT_ONCE = 20;
const ENDS: Readonly<Record<string, string>> = { failer: 'failed', endless: 'failed' };

type Errand = (client: Client, key: string) => Promise<void>;

/** Waits until a run is over; decides and tells what it waits for meanwhile. */
async function toItsEnd(
  client: Client,
  started: RunView,
  key: string,
  verdict: 'approve' | 'reject',
): Promise<RunView> {
  for (;;) {
    const run = await client.getRun(started.id, { wait: WAIT_SECONDS });
    if (run.status !== 'paused') {
      if (['completed', 'failed', 'cancelled'].includes(run.status)) return run;
      continue;
    }
    const pending = await client.listInterruptions({ ...PENDING, run: started.id });
    for (const { id, kind } of pending.items) {
      if (kind === 'approval') await client.decide(id, { verdict });
      if (kind === 'question') await client.decide(id, { verdict: 'answer', value: 'yes' });
      if (kind === 'event') await client.emitEvent('soak', { key, payload: key, eventId: key });
    }
    await sleep(200);
  }
}

const expectStatus = ({ id, agent, status, error }: RunView, expected: string): void => {
  if (status !== expected) throw new Error(`run ${id} of ${agent} is ${status}: ${JSON.stringify(error)}`);
};

const runOf =
  (agent: string, verdict: 'approve' | 'reject' = 'approve', more: object = {}): Errand =>
  async (client, key) => {
    const started = await client.startRun({ agent, input: key, ...more }, { key });
    expectStatus(await toItsEnd(client, started, key, verdict), ENDS[agent] ?? 'completed');
  };

const stream: Errand = async (client, key) => {
  const { id } = await client.startRun({ agent: 'talker', input: key, sessionId: `session-${key}` }, { key });
  let seen = 0;
  for await (const _ of client.streamRun(id, 0, AbortSignal.timeout(60_000))) seen += 1;
  expectStatus(await client.getRun(id, { wait: WAIT_SECONDS }), 'completed');
  if (seen === 0) throw new Error(`the stream of run ${id} said nothing`);
};

/** Reads a little of a stream, then goes away. */
const leaveStream: Errand = async (client, key) => {
  const started = await client.startRun({ agent: 'talker', input: key }, { key });
  const leaving = new AbortController();
  try {
    for await (const _ of client.streamRun(started.id, 0, leaving.signal)) leaving.abort();
  } catch {
    // That is how the client of a stream ends.
  }
  expectStatus(await toItsEnd(client, started, key, 'approve'), 'completed');
};

const fork: Errand = async (client, key) => {
  const first = await client.startRun({ agent: 'looker', input: key }, { key });
  expectStatus(await toItsEnd(client, first, key, 'approve'), 'completed');
  const forked = await client.forkRun(first.id, { at: 12 }, { key: `${key}-fork` });
  expectStatus(await toItsEnd(client, forked, key, 'approve'), 'completed');
  await client.diffRuns(first.id, forked.id);
};

const look: Errand = async (client, key) => {
  const started = await client.startRun({ agent: 'payer', input: key }, { key });
  expectStatus(await toItsEnd(client, started, key, 'approve'), 'completed');
  const { ok } = await client.verifyRun(started.id);
  if (!ok) throw new Error(`the log of run ${started.id} does not verify`);
  const { result } = await client.replayRun(started.id, {});
  if (result !== 'same') throw new Error(`the replay of run ${started.id} is ${result}`);
  await client.getTrajectory(started.id);
  await client.checkpointNow();
  await client.exportProof(started.id);
  await Promise.all([
    client.getHealth(),
    client.getStats(),
    client.listRuns({ limit: 20 }),
    client.listInterruptions(PENDING),
  ]);
};

const cancel: Errand = async (client, key) => {
  const started = await client.startRun({ agent: 'asker', input: key }, { key });
  for (let run = started; run.status !== 'paused'; ) run = await client.getRun(started.id, { wait: WAIT_SECONDS });
  await client.cancelRun(started.id, { reason: 'no one wants it any more' });
  expectStatus(await toItsEnd(client, started, key, 'approve'), 'cancelled');
};

const exported: Errand = async (client, key) => {
  const since = new Date(Date.now() - 60_000).toISOString();
  const { id } = await client.startExport({ format: 'jsonl', to: { folder: key }, filters: { since } });
  for (;;) {
    const { status } = await client.getExport(id);
    if (status === 'completed') return;
    if (status === 'failed' || status === 'cancelled') throw new Error(`export ${id} is ${status}`);
    await sleep(200);
  }
};

/** In this order, again and again. */
const ERRANDS: readonly (readonly [string, Errand])[] = [
  ['tools', runOf('looker')],
  ['approval', runOf('asker')],
  ['stream', stream],
  ['unsafe calls', runOf('pair')],
  ['cancel', cancel],
  ['question, timer and event', runOf('waiter')],
  ['fork', fork],
  ['rejection', runOf('asker', 'reject')],
  ['stream that its client leaves', leaveStream],
  ['run below a run', runOf('lead')],
  ['failure', runOf('failer')],
  ['verification, replay and proof', look],
  ['agent as a tool', runOf('boss')],
  ['export', exported],
  ['limit of turns', runOf('endless')],
];

export class SteadyLoad {
  readonly problems: string[] = [];
  readonly done: Record<string, number> = {};
  readonly #client: Client;
  readonly #everyMs: number;
  #open = 0;
  #errands = 0;
  #isOn = false;

  constructor(client: Client, perSecond: number) {
    this.#client = client;
    this.#everyMs = 1000 / perSecond;
  }

  get count(): number {
    return Object.values(this.done).reduce((sum, one) => sum + one, 0);
  }

  /** Begins errands for so long. Ends when none is under way any more. */
  async go(ms: number): Promise<void> {
    this.#isOn = true;
    for (const until = performance.now() + ms; this.#isOn && performance.now() < until; await sleep(this.#everyMs))
      if (this.#open < AT_ONCE) void this.#one();
    while (this.#open > 0) await sleep(100);
  }

  stop(): void {
    this.#isOn = false;
  }

  async #one(): Promise<void> {
    const n = this.#errands++;
    const [name, errand] = ERRANDS[n % ERRANDS.length] ?? ['tools', runOf('looker')];
    this.#open++;
    try {
      await errand(this.#client, `soak-${n}`);
      this.done[name] = (this.done[name] ?? 0) + 1;
    } catch (error) {
      this.problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#open--;
    }
  }
}
