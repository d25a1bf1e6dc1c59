import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { strandedRuns } from '../../src/storage/dbos/strays.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { describeEachDatabase } from '../harness/database.js';
import { openLeftDatabase } from './database/left-database.js';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Plan[];
}
const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

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
    await strandedRuns(database.knex, 20);
    const [statement] = asked;
    const { rows } = await database.knex.raw(`explain (format json) ${statement?.sql.replaceAll(/\$\d+/g, '20')}`);
    const found: unknown = rows[0]['QUERY PLAN'];
    const [{ Plan: plan }] = (typeof found === 'string' ? JSON.parse(found) : found) as [{ Plan: Plan }];
    const ofRuns = nodesOf(plan).filter(
      (node) => node['Relation Name'] === 'runs' || node['Index Name']?.startsWith('runs') === true,
    );
    expect(ofRuns.map((node) => node['Index Name'])).toContain('runs_at_work_index');
    expect(ofRuns.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });
});
