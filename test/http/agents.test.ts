import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentDefinition, agentDetail } from '../../src/core/agents/agent-view.js';
import { runView } from '../../src/core/runs/run.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, openDoor } from './door.js';

describeEachDatabase('agents over HTTP', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  const read = async () => agentDetail.parse((await door.ask('vera', 'GET', '/api/v1/agents/payer')).json);

  test('one is read with its definition, and with those that runs have had', async () => {
    expect(await read()).toMatchObject({
      name: 'payer',
      definition: { name: 'payer', tools: [{ name: 'pay', effect: 'unsafe' }] },
    });
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'payer', input: 'go' });
    await door.ask('vera', 'GET', `/api/v1/runs/${runView.parse(json).id}?wait=20`);
    const { definition, definitions, definitionHash } = await read();
    expect(definitions).toMatchObject([{ hash: definitionHash, version: '1' }]);
    const path = `/api/v1/agents/payer/definitions/${definitionHash}`;
    const kept = agentDefinition.parse((await door.ask('vera', 'GET', path)).json);
    expect(kept).toMatchObject({ hash: definitionHash, definition });
    expect((await door.ask('zoe', 'GET', path)).status).toBe(404);
  });

  // The embedded database is of the process that serves alone.
  test.runIf(kind === 'postgres')('a definition that someone changed in the database is not shown', async () => {
    const { definitionHash } = await read();
    const database = await openDatabase(door.database.options);
    await database.knex.raw(
      `update holdfast.agents set definition = replace(definition, 'Pays', 'Steals') where name = 'payer'`,
    );
    await database.close();
    const changed = await door.ask('vera', 'GET', `/api/v1/agents/payer/definitions/${definitionHash}`);
    expect(changed.json).toMatchObject({ code: 'row_changed' });
    expect(changed.text).not.toContain('Steals');
  });

  test('one that is not there is named', async () => {
    const { json } = await door.ask('vera', 'GET', '/api/v1/agents/none');
    expect(json).toMatchObject({ code: 'agent_unknown' });
    expect((await door.ask('vera', 'GET', '/api/v1/agents/echo/definitions/x')).status).toBe(404);
  });
});
