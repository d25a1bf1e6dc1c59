import { Agent } from '@openai/agents';
import { expect, it, onTestFinished } from 'vitest';
import type { EventDraft } from '../../../src/core/log/event.js';
import { createEngine, defineAgent } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { appendEvents } from '../../../src/storage/log/events.js';
import { createEngineDatabase, describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, restOf } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

describeEachDatabaseSlowly('the log of a run that is over', (kind) => {
  it('takes nothing more from an execution that was given up', async () => {
    const database = await createEngineDatabase(kind);
    const config = {
      ...database.options,
      workerId: 'test',
      agents: [defineAgent({ agent: new Agent({ name: 'quick', model: scripted([[say('done')]]) }) })],
    };
    let engine = await createEngine(config);
    onTestFinished(() => engine.stop({ graceMs: 0 }));
    const { id } = await engine.startRun({ agent: 'quick', input: 'go' }, ADMIN);
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    await engine.stop({ graceMs: 500 });
    const behind = await openDatabase(database.options);
    const late: EventDraft = {
      key: '0:99',
      parentKey: '0:0',
      kind: 'segment.started',
      data: { segment: 0, decisions: [] },
    };
    await behind.knex.transaction((trx) =>
      appendEvents(trx, id, [late], { at: new Date().toISOString(), worker: 'old' }),
    );
    await behind.close();
    engine = await createEngine(config);
    try {
      expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true, broken: null });
    } finally {
      await engine.stop({ graceMs: 500 });
      await database.drop();
    }
  });
});
