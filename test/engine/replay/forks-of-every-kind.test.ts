import { expect, it } from 'vitest';
import type { ForkRun } from '../../../src/core/replay/fork.js';
import type { RunEvent, RunView } from '../../../src/index.js';
import { describeEachDatabaseSlowly, FEW_STRIDE } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, restOf, type TestEngine } from '../../harness/engine.js';
import { config, decideAll, NAMES } from '../integrity/every-kind.js';

/** Forks of runs of every kind have the end of their source, from any event, and with edits that change nothing. */

/** One event of so many is forked from, beginning with another one in each kind. */
const STRIDE = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24) >= FEW_STRIDE ? 27 : 9;

/** What came of the calls, in no order: where the fork has another pause, so has the conversation. */
const said = ({ output }: RunView): string[] => String(output).split(' | ').sort();

type Edit = NonNullable<ForkRun['edits']>[number];

/** An edit that says what is there. */
function sameAgain({ kind, data }: RunEvent, ran: ReadonlySet<unknown>): Edit[] {
  const { turn, output, callId, outcome } = Object(data);
  if (kind === 'model.responded') return [{ turn, output }];
  return kind === 'call.finished' && ran.has(callId) ? [{ callId, outcome }] : [];
}

describeEachDatabaseSlowly('forks of every kind of run', (kind) => {
  const t = engineFor(kind, config);

  const start = async (agent: string) => (await t.engine.startRun({ agent, input: 'go' }, ADMIN)).id;
  /** Decides for all runs until every one is over. */
  const drive = async () => {
    do {
      for (const status of ['queued', 'running', 'queued'] as const)
        for (const { id } of (await t.engine.listRuns({ status, limit: 200 }, ADMIN)).items) await restOf(t.engine, id);
      await decideAll(t.engine);
    } while ((await t.engine.listRuns({ limit: 200 }, ADMIN)).items.some(({ completedAt }) => completedAt === null));
  };
  const fork = async (id: string, request: Parameters<TestEngine['engine']['forkRun']>[1]) => ({
    what: JSON.stringify(request),
    id: (await t.engine.forkRun(id, request, ADMIN)).id,
  });

  for (const [index, name] of NAMES.entries()) {
    it(name, { timeout: 120_000 }, async () => {
      const id = await start(name);
      await drive();
      const source = await t.engine.getRun(id, ADMIN);
      expect(source).toMatchObject({ status: 'completed' });
      const events = await eventsOf(t.engine, id);
      const ran = new Set(events.flatMap((one) => (one.kind === 'call.started' ? [Object(one.data).callId] : [])));
      const forks = [];
      for (const event of events.filter(({ seq }) => seq % STRIDE === index % STRIDE)) {
        forks.push(await fork(id, { at: event.seq }));
      }
      const edits = events.flatMap((event) => sameAgain(event, ran));
      for (const edit of edits.filter((_, place) => place % 3 === index % 3))
        forks.push(await fork(id, { at: events.length, edits: [edit] }));
      await drive();
      const { turns, usage } = source;
      for (const { id: forkId, what } of forks) {
        const run = await t.engine.getRun(forkId, ADMIN);
        expect(run, `${what} ${JSON.stringify(run.error)}`).toMatchObject({ status: 'completed', turns, usage });
        expect(said(run), what).toEqual(said(source));
        expect(await t.engine.verifyRun(forkId, ADMIN), what).toMatchObject({ ok: true, complete: true });
      }
    });
  }

  it('are whole, whatever the source does in that moment', { timeout: 120_000 }, async () => {
    const id = await start('standing');
    let working = true;
    const driven = drive().finally(() => {
      working = false;
    });
    const forks = new Map<number, string>();
    while (working) {
      const at = (await eventsOf(t.engine, id)).length;
      if (!forks.has(at)) forks.set(at, (await fork(id, { at })).id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await driven;
    await drive();
    const source = await t.engine.getRun(id, ADMIN);
    expect(forks.size).toBeGreaterThan(3);
    for (const [at, forkId] of forks) {
      const run = await t.engine.getRun(forkId, ADMIN);
      expect(run, `at ${at}`).toMatchObject({ status: 'completed', turns: source.turns });
      // What was at work in the source at that moment may have happened: a person has answered for it.
      const unknown = (await eventsOf(t.engine, forkId)).filter((event) => event.kind === 'call.unknown').length;
      expect(said(run).filter((one) => !said(source).includes(one)).length, `at ${at}`).toBe(unknown);
      expect(await t.engine.verifyRun(forkId, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
  });
});
