import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { environmentSpec, specHashOf } from '../../src/core/containers/environment-spec.js';
import type { RunStatus } from '../../src/core/runs/run.js';
import {
  beginDrop,
  holdSnapshot,
  markWhole,
  saveSnapshot,
  spareSnapshots,
  stayForHeirs,
  wholeSnapshots,
} from '../../src/storage/containers/environment-snapshots.js';
import {
  beginRemove,
  beginStop,
  dueEnvironments,
  endChange,
  findEnvironment,
  instanceId,
  markStarted,
  saveEnvironment,
  standingOf,
  useEnvironment,
} from '../../src/storage/containers/environments.js';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

/** Who may use, stop and remove a container, and that no two do what excludes each other. */

const spec = environmentSpec.parse({ image: 'any' });
const LONG = 60_000;
const OVER = -1;

describeEachDatabase('rows of environments', (kind) => {
  let place: TestDatabase;
  let db: Database;
  let instance = '';
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    db = await openDatabase(place.options);
    instance = await instanceId(db.knex);
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  const setStatus = (runId: string, status: RunStatus) =>
    db.knex('holdfast.runs').where({ id: runId }).update({ status });

  /** An environment of a run of this status, on an engine of its own. */
  const kept = async (status: RunStatus) => {
    const runId = `run_${randomBytes(16).toString('hex')}`;
    await db.knex.transaction(async (trx) => {
      const agent = { agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' };
      const limits = { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null };
      await insertRun(trx, { id: runId, tenant: 'default', ...agent, grants: [], limits, metadata: {} });
    });
    await setStatus(runId, status);
    const deadline = new Date(2_000_000_000_000).toISOString();
    const name = { instance, runId, purpose: 'run' as const, attempt: 1 };
    const identity = { ...name, source: null, spec, specHash: specHashOf(spec), deadline };
    await saveEnvironment(db.knex, { identity, engine: runId, key: 'k' }, 'default');
    const stateOf = async () => (await findEnvironment(db.knex, instance, identity))?.state;
    const due = async () => (await dueEnvironments(db.knex, instance, runId, 10)).map((one) => one.due);
    return { identity, stateOf, due };
  };

  it('the first that is kept stands, and comes back as it was', async () => {
    const { identity } = await kept('running');
    await saveEnvironment(db.knex, { identity, engine: 'other', key: 'other' }, 'default');
    const found = await findEnvironment(db.knex, instance, identity);
    expect(found).toEqual({ identity, engine: identity.runId, key: 'k', state: 'new', begun: false });
    await markStarted(db.knex, identity);
    expect(await findEnvironment(db.knex, instance, identity)).toMatchObject({ begun: true });
    const others = [
      { ...identity, runId: 'none' },
      { ...identity, attempt: 2 },
      { ...identity, purpose: 'verification' as const },
    ];
    expect(await standingOf(db.knex, [identity, ...others])).toEqual({ kept: [identity], gone: [], unknown: others });
    expect(instance).toMatch(/^[0-9a-f]{10}$/);
  });

  it('whose row cannot be read is due by its name, and holds up no other', async () => {
    const [broken, other] = [await kept('completed'), await kept('completed')];
    const rows = () => db.knex('holdfast.environments');
    await rows().where({ run_id: broken.identity.runId }).update({ spec: '{"image":1}', engine: other.identity.runId });
    const found = await dueEnvironments(db.knex, instance, other.identity.runId, 10);
    const { runId, purpose, attempt } = broken.identity;
    expect(found.find(({ kept: readable }) => readable === null)).toMatchObject({
      ...{ identity: { instance, runId, purpose, attempt }, due: 'remove', trouble: { code: 'row_changed' } },
    });
    expect(found.find(({ kept: readable }) => readable !== null)?.kept?.identity).toEqual(other.identity);
  });

  it('is stopped by one, while its run is paused, and not used meanwhile', async () => {
    const { identity, stateOf, due } = await kept('running');
    expect(await useEnvironment(db.knex, identity)).toBe(true);
    expect([await due(), await beginStop(db.knex, identity, LONG)]).toEqual([[], false]);
    await setStatus(identity.runId, 'paused');
    expect(await due()).toEqual(['stop']);
    expect(await beginStop(db.knex, identity, LONG)).toBe(true);
    expect([await due(), await beginStop(db.knex, identity, LONG)]).toEqual([[], false]);
    expect(await useEnvironment(db.knex, identity)).toBe(false);
    await endChange(db.knex, identity, 'stopping');
    expect([await stateOf(), await due()]).toEqual(['down', []]);
    expect(await useEnvironment(db.knex, identity)).toBe(true);
  });

  it('who was to stop it and has not in time does not any more', async () => {
    const { identity, stateOf, due } = await kept('paused');
    await useEnvironment(db.knex, identity);
    expect(await beginStop(db.knex, identity, OVER)).toBe(true);
    expect(await due()).toEqual(['stop']);
    await setStatus(identity.runId, 'running');
    expect(await useEnvironment(db.knex, identity)).toBe(true);
    await endChange(db.knex, identity, 'stopping');
    expect(await stateOf()).toBe('up');
  });

  it('is removed by one when its run is over, and never used again', async () => {
    const { identity, stateOf, due } = await kept('running');
    expect(await beginRemove(db.knex, identity, LONG)).toBe(false);
    await setStatus(identity.runId, 'failed');
    expect(await due()).toEqual(['remove']);
    expect(await beginRemove(db.knex, identity, OVER)).toBe(true);
    // Who had it is taken to be dead.
    expect(await due()).toEqual(['remove']);
    expect(await beginRemove(db.knex, identity, LONG)).toBe(true);
    expect([await due(), await beginRemove(db.knex, identity, LONG)]).toEqual([[], false]);
    expect(await useEnvironment(db.knex, identity)).toBe(false);
    await endChange(db.knex, identity, 'removing');
    expect([await stateOf(), await due(), await useEnvironment(db.knex, identity)]).toEqual(['gone', [], false]);
    expect(await standingOf(db.knex, [identity])).toEqual({ kept: [], gone: [identity], unknown: [] });
    expect(await markStarted(db.knex, identity)).toBe(false);
  });

  it('a copy of it is kept beside it, by its own name and with whose files it has', async () => {
    const { identity, due } = await kept('running');
    const { instance: _instance, purpose: _purpose, ...rest } = identity;
    const source = { instance, runId: identity.runId, purpose: 'run' as const, attempt: 1 };
    const copy = { ...rest, instance, purpose: 'verification' as const, source };
    await saveEnvironment(db.knex, { identity: copy, engine: identity.runId, key: 'c' }, 'default');
    const found = await findEnvironment(db.knex, instance, copy);
    expect(found).toEqual({ identity: copy, engine: identity.runId, key: 'c', state: 'new', begun: false });
    expect(await findEnvironment(db.knex, instance, identity)).toMatchObject({ identity, key: 'k' });
    await setStatus(identity.runId, 'completed');
    expect(await due()).toEqual(['remove', 'remove']);
    expect(await beginRemove(db.knex, copy, LONG)).toBe(true);
    await endChange(db.knex, copy, 'removing');
    expect(await due()).toEqual(['remove']);
  });

  it('a snapshot of a moment is kept once, the oldest go first, and none goes that a fork is to begin with', async () => {
    const { identity, due } = await kept('paused');
    const { runId } = identity;
    const run = { identity, engine: runId, key: 'k', state: 'down' as const, begun: true };
    const terms = { keepHours: 1, deadline: identity.deadline, leaseMs: LONG };
    const keep = async (seq: number) => {
      const made = await saveSnapshot(db.knex, run, seq, terms);
      if (made === null) throw new Error('its run is not erased');
      return made;
    };
    const first = await keep(5);
    expect(first.identity).toMatchObject({ purpose: 'snapshot', attempt: 1, source: { runId, purpose: 'run' } });
    expect(await wholeSnapshots(db.knex, instance, runId)).toEqual([]);
    expect(await db.knex.transaction((trx) => holdSnapshot(trx, first.identity))).toBe(null);
    expect(await markWhole(db.knex, first.identity)).toBe(true);
    expect((await keep(5)).identity).toEqual(first.identity);
    const second = await keep(9);
    await markWhole(db.knex, second.identity);
    expect((await wholeSnapshots(db.knex, instance, runId)).map(({ seq }) => seq)).toEqual([9, 5]);
    expect(await spareSnapshots(db.knex, instance, runId, 2)).toEqual([]);
    const [spare] = await spareSnapshots(db.knex, instance, runId, 1);
    expect(spare).toMatchObject({ runId, purpose: 'snapshot', attempt: 1 });
    const heir = await kept('queued');
    await db.knex.transaction(async (trx) => {
      expect(await holdSnapshot(trx, first.identity)).toMatchObject({ identity: { attempt: 1 } });
      const own = { ...heir.identity, attempt: 2, source: first.identity };
      await saveEnvironment(trx, { identity: own, engine: 'heirs', key: 'k' }, 'default');
    });
    expect(await beginDrop(db.knex, first.identity, LONG)).toBe(true);
    expect(await db.knex.transaction((trx) => holdSnapshot(trx, first.identity))).toBe(null);
    expect(await stayForHeirs(db.knex, first.identity)).toBe(true);
    expect((await wholeSnapshots(db.knex, instance, runId)).map(({ seq }) => seq)).toEqual([9, 5]);
    await markStarted(db.knex, { ...heir.identity, attempt: 2 });
    expect(await beginDrop(db.knex, first.identity, LONG)).toBe(true);
    expect(await stayForHeirs(db.knex, first.identity)).toBe(false);
    expect(await markWhole(db.knex, first.identity)).toBe(false);
    await endChange(db.knex, first.identity, 'removing');
    await setStatus(runId, 'completed');
    await db.knex('holdfast.runs').where({ id: runId }).update({ completed_at: new Date() });
    expect(await due()).toEqual(['remove']);
    await db
      .knex('holdfast.runs')
      .where({ id: runId })
      .update({ completed_at: new Date(Date.now() - 3_700_000) });
    expect(await due()).toEqual(['remove', 'remove']);
  });

  it('of ten that would stop it, one does', async () => {
    const { identity } = await kept('paused');
    await useEnvironment(db.knex, identity);
    const all = await Promise.all(Array.from({ length: 10 }, () => beginStop(db.knex, identity, LONG)));
    expect(all.filter(Boolean)).toHaveLength(1);
  });
});
