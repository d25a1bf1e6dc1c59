import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { leafOf } from '../../../src/core/evidence/log-entry.js';
import { TreeEdge, verifyConsistency } from '../../../src/core/evidence/merkle.js';
import { makeLogKey } from '../../../src/engine/evidence/log-keys.js';
import { createEngine, type Engine } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { readEntries } from '../../../src/storage/evidence/log-entries.js';
import { appendEvents } from '../../../src/storage/log/events.js';
import { chainAnew } from '../../harness/chain-anew.js';
import { createEngineDatabase, describePostgresSlowly, type TestDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, runToRest } from '../../harness/engine.js';

/** What the owner of the database does, with all of SQL and this very code, but without the signing key and the files outside. */

const config = {
  agents: [echoAgent('one')],
  evidence: { intervalMs: 3_600_000 },
};

/** Makes the entry of a run fit its log again, and the tree over all entries with it. */
async function treeAnew(knex: Knex, runId: string): Promise<void> {
  const head = await knex('holdfast.run_heads').where({ run_id: runId }).first('seq', 'hash', 'state_hash');
  await knex('holdfast.log_entries').where({ run_id: runId }).update(head);
  const edge = new TreeEdge();
  for (const entry of await readEntries(knex, 0, 1000))
    await knex('holdfast.log_entries')
      .where({ index: entry.index })
      .update({ hashes: edge.append(leafOf(entry)).join('') });
}

const entriesFrom = (index: number) => (knex: Knex) =>
  knex('holdfast.log_entries').where('index', '>=', index).delete();

interface Attack {
  readonly name: string;
  readonly act: (knex: Knex, runId: string) => Promise<unknown>;
  /** What verifying the run says; null: it is not found there. */
  readonly run: RegExp | null | 'gone';
  /** What verifying the log over all runs says; null: it is not found there. */
  readonly log: RegExp | null;
  /** Why the log is not signed any more, when a run comes later; null: it is signed. */
  readonly refused?: RegExp;
}

const ENTRY = /entry \d+ commits to event 10 of a run, which is missing or says something else/;
const ATTACKS: readonly Attack[] = [
  {
    name: 'a whole run is removed',
    act: (knex, id) => knex('holdfast.runs').where({ id }).delete(),
    run: 'gone',
    log: /entry 1 is of a run that is gone, and no entry says who removed it/,
  },
  {
    name: 'the tail and its head are cut',
    act: (knex, id) => chainAnew(knex, id, { upTo: 9, from: 'no', to: 'no' }),
    run: /its log does not end/,
    log: ENTRY,
  },
  {
    name: 'the tail is cut, and another one is written',
    act: async (knex, id) => {
      await chainAnew(knex, id, { upTo: 9, from: 'no', to: 'no' });
      const data = { actor: 'mallory', reason: 'x' };
      const { key: parentKey }: { key: string } = await knex('holdfast.events')
        .where({ run_id: id, seq: 9 })
        .first('key');
      const draft = { key: 'other', parentKey, kind: 'run.cancel_requested', data } as const;
      await knex.transaction((trx) => appendEvents(trx, id, [draft], { at: new Date().toISOString(), worker: null }));
    },
    run: /its log does not end/,
    log: ENTRY,
  },
  {
    name: 'the chain is made again from its first event',
    act: (knex, id) => chainAnew(knex, id),
    run: /commits to another event here/,
    log: ENTRY,
  },
  {
    name: 'the chain and its entry are made again',
    act: async (knex, id) => {
      await chainAnew(knex, id);
      const head = await knex('holdfast.run_heads').where({ run_id: id }).first('seq', 'hash', 'state_hash');
      await knex('holdfast.log_entries').where({ run_id: id }).update(head);
    },
    run: /was changed/,
    log: /is not what its hashes say/,
    refused: /is not what its hashes say/,
  },
  {
    name: 'the chain, its entry and the tree are made again',
    act: async (knex, id) => {
      await chainAnew(knex, id);
      await treeAnew(knex, id);
    },
    run: /not in the log of all runs as it was signed/,
    log: /are not those that were signed/,
    refused: /it was rewritten/,
  },
  {
    name: 'the log over all runs is cut',
    act: entriesFrom(1),
    run: /was signed, and the log of all runs has 1/,
    log: /a checkpoint of 3 entries was signed, and 1 of them are there/,
    refused: /its end was cut/,
  },
  {
    name: 'the log over all runs is emptied, with its checkpoints',
    act: async (knex) => {
      await knex('holdfast.log_entries').delete();
      await knex('holdfast.log_checkpoints').delete();
    },
    run: /was signed, and the log of all runs has 0/,
    log: /a checkpoint of 3 entries was signed, and 0 of them are there/,
    refused: /its end was cut/,
  },
  {
    name: 'the entry of a run is removed',
    act: (knex, id) => knex('holdfast.log_entries').where({ run_id: id }).delete(),
    run: /was entered into the log of all runs, which has no such entry/,
    log: /entry 1 of the log is missing/,
    refused: /has no hash at level/,
  },
  {
    name: 'the entries of two runs are in each other’s place',
    act: async (knex) => {
      await knex.raw('update holdfast.log_entries set index = -1 - index where index < 2');
      await knex.raw('update holdfast.log_entries set index = 2 + index where index < 0');
    },
    run: /is not in the log of all runs|was changed/,
    log: /is not what its hashes say/,
    refused: /has no hash at level/,
  },
  {
    name: 'an entry says that the run goes on',
    act: (knex, id) => knex('holdfast.log_entries').where({ run_id: id }).update({ complete: false }),
    run: /was changed/,
    log: /is not what its hashes say/,
    refused: /is not what its hashes say/,
  },
  {
    name: 'an entry is passed off as another run’s',
    act: (knex, id) => knex('holdfast.log_entries').where({ run_id: id }).update({ run_id: 'run_other' }),
    run: /has no such entry/,
    log: /is not what its hashes say/,
    refused: /is not what its hashes say/,
  },
  {
    name: 'an entry is given an actor and a reason, which it does not have',
    act: (knex, id) => knex('holdfast.log_entries').where({ run_id: id }).update({ actor: 'mallory', reason: 'x' }),
    run: /was changed/,
    log: /is not what its hashes say/,
    refused: /is not what its hashes say/,
  },
  {
    name: 'an older checkpoint is put in the place of the newer ones',
    act: async (knex) => {
      const rows = await knex('holdfast.log_checkpoints').orderBy('size');
      await knex('holdfast.log_checkpoints').where('size', '>', rows[0].size).delete();
    },
    run: null,
    log: null,
  },
  {
    name: 'a checkpoint is signed by another key',
    act: async (knex) => {
      const { note }: { note: string } = await knex('holdfast.log_checkpoints').first('note');
      const forged = note.replace(/(— \S+ \S{8})\S+/, (_, start: string) => `${start}${'A'.repeat(82)}==`);
      await knex('holdfast.log_checkpoints').update({ note: forged });
    },
    run: null,
    log: /no key that is trusted here has signed it|it is no signed note/,
  },
  {
    name: 'the signatures of checkpoints are stripped',
    act: async (knex) => {
      const { note }: { note: string } = await knex('holdfast.log_checkpoints').first('note');
      await knex('holdfast.log_checkpoints').update({ note: note.split('\n\n')[0] });
    },
    run: null,
    log: /it is no signed note/,
  },
];

describePostgresSlowly('someone who owns the database', () => {
  let database: TestDatabase;
  let engine: Engine;
  let runId: string;
  const open = async () => {
    engine = await createEngine({
      ...{ workerId: 'test', ...config, ...database.options },
      signingKeyFile: join(database.options.dataDir, 'test-key'),
    });
  };
  const behind = async (act: (knex: Knex) => Promise<unknown>): Promise<void> => {
    await engine.stop({ graceMs: 1000 });
    const opened = await openDatabase(database.options);
    await act(opened.knex);
    await opened.close();
    await open();
  };

  beforeEach(async () => {
    database = await createEngineDatabase('postgres');
    makeLogKey(join(database.options.dataDir, 'test-key'), 'holdfast/test');
    await open();
    await runToRest(engine, 'echo');
    await engine.checkpointNow();
    runId = (await runToRest(engine, 'echo')).id;
    await engine.checkpointNow();
    await runToRest(engine, 'echo');
    await engine.checkpointNow();
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  it.each(ATTACKS)('is found when $name', async ({ act, run, log, refused }) => {
    await behind((knex) => act(knex, runId));
    const report = run === 'gone' ? null : await engine.verifyRun(runId, ADMIN);
    if (run === null) expect(report?.broken).toBe(null);
    else if (run !== 'gone') expect(report).toMatchObject({ ok: false, broken: { what: expect.stringMatching(run) } });
    // All runs together are told the same as each of them alone.
    const { items } = await engine.verifyRuns({ limit: 50 }, ADMIN);
    for (const item of items) expect(item).toEqual(await engine.verifyRun(item.runId, ADMIN));
    const whole = await engine.verifyLog(ADMIN);
    if (log === null) expect(whole).toMatchObject({ ok: true, size: 3 });
    else {
      expect(whole.ok).toBe(false);
      expect(whole.problems.map(({ what }) => what).join('\n')).toMatch(log);
    }
    const lines = () => readFileSync(join(database.options.dataDir, 'checkpoints.jsonl'), 'utf8');
    const before = lines();
    await runToRest(engine, 'echo');
    const later = await engine.checkpointNow();
    if (refused === undefined) expect(later.problem).toBe(null);
    else {
      expect(later.problem).toMatch(refused);
      expect(lines()).toBe(before);
    }
  });

  it('is found when all that is kept outside is older: by who has kept the newer checkpoint', async () => {
    rmSync(join(database.options.dataDir, 'test-key.signed'));
    const path = join(database.options.dataDir, 'checkpoints.jsonl');
    copyFileSync(path, `${path}.kept`);
    const [first = ''] = readFileSync(path, 'utf8').split('\n');
    const { checkpoint } = await engine.getLog();
    await behind(async (knex) => {
      writeFileSync(path, `${first}\n`);
      await knex('holdfast.log_checkpoints').where('size', '>', 1).delete();
      await chainAnew(knex, runId);
      await treeAnew(knex, runId);
    });
    // Here nothing contradicts what was forged, and it is signed.
    await runToRest(engine, 'echo');
    const later = await engine.checkpointNow();
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true });
    const sizes = { earlier: checkpoint?.size ?? 0, size: later.entries };
    const { proof } = await engine.getConsistency(sizes);
    const roots = { earlierRoot: checkpoint?.root ?? '', root: later.checkpoint?.root ?? '' };
    expect(verifyConsistency(proof, { ...sizes, ...roots })).toBe(false);
    // And with the file that was kept, it is found here as well.
    copyFileSync(`${path}.kept`, path);
    rmSync(`${path}.kept`);
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: false });
  });
});
