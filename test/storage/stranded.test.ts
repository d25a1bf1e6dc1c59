import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { strandedRuns } from '../../src/storage/dbos/strays.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { describeEachDatabase } from '../harness/database.js';
import { explained } from '../harness/explain.js';
import { openLeftDatabase } from './database/left-database.js';

describeEachDatabase('the look for runs that cannot go on', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
    await insertRun(database.knex, {
      ...{ id: 'run_1', tenant: 'default', agent: 'any', agentVersion: '1', agentHash: '', priority: 1000 },
      ...{
        input: 'go',
        grants: [],
        metadata: {},
        limits: { maxTurns: 1, maxTokens: null, maxActiveMs: null } as never,
      },
    });
    // Far more that wait or are over than are at work.
    await database.knex.raw(
      `insert into holdfast.runs select made.* from holdfast.runs r, generate_series(1, 5000) n,
              json_populate_record(r, json_build_object('id', 'run_of_' || n, 'status',
                case when n % 2 = 0 then 'paused' else 'completed' end)) made`,
    );
    await database.knex.raw('analyze holdfast.runs');
  });
  afterAll(() => close());

  it('reads those alone that are at work', async () => {
    const asked: { sql: string; bindings: readonly unknown[] }[] = [];
    database.knex.on('query', (query: (typeof asked)[number]) => void asked.push(query));
    await strandedRuns(database.knex, [], 20);
    const [statement] = asked;
    const nodes = await explained(database, statement?.sql ?? '', statement?.bindings ?? []);
    const ofRuns = nodes.filter(
      (node) => node['Relation Name'] === 'runs' || node['Index Name']?.startsWith('runs') === true,
    );
    expect(ofRuns.map((node) => node['Index Name'])).toContain('runs_at_work_index');
    expect(ofRuns.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });
});
