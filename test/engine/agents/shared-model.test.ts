import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, kindsOf, openTestEngine, restOf, runToRest } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** What the log says of a model does not depend on which of its agents ran first in this process. */

let hang = false;

/** As a program makes them at each start: two agents and one model. */
const agents = () => {
  const model = functionModel('shared', async () => {
    if (hang) await new Promise(() => {});
    return [say('done')];
  });
  return ['first', 'second'].map((name) => defineAgent({ agent: new Agent({ name, model }) }));
};

describeEachDatabaseSlowly('a model of two agents', (kind) => {
  it('lets a run in flight go on after a restart', async () => {
    hang = false;
    const t = await openTestEngine(kind, { agents: agents() });
    try {
      expect(await runToRest(t.engine, 'first')).toMatchObject({ status: 'completed' });
      hang = true;
      const { id } = await t.engine.startRun({ agent: 'second', input: 'go' }, ADMIN);
      const asked = async () => (await kindsOf(t.engine, id)).includes('model.requested');
      for (let n = 0; n < 400 && !(await asked()); n++) await new Promise((resolve) => setTimeout(resolve, 25));
      hang = false;
      await t.restart({ agents: agents() });
      const done = await restOf(t.engine, id);
      expect(done).toMatchObject({ status: 'completed', output: 'done', error: null });
    } finally {
      await t.close();
    }
  });
});
