import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { COPIES, COPY_NAMES, type CopyName, type StoredCopies } from '../../core/integrity/copied-rows.js';
import type { Column, StoredRow } from '../../core/integrity/copied-table.js';
import { canonical } from '../../core/json.js';
import { draftOf, type KeyedEvent } from '../../core/log/recording.js';
import { type ClaimRow, claims } from '../evidence/log-pages.js';
import type { RunRow } from '../runs/run-row.js';

/** Which rows of a table are those of a run, and the name of the table. */
const FROM: { readonly [name in CopyName]: string } = {
  runs: 'holdfast.runs t join holdfast.runs r on r.id = t.id',
  agents: `holdfast.agents t join holdfast.runs r on r.agent_hash = t.definition_hash and r.agent = t.name`,
  interruptions: 'holdfast.interruptions t join holdfast.runs r on r.id = t.run_id',
  decisions: `holdfast.decisions t join holdfast.interruptions i on i.id = t.interruption_id
              join holdfast.runs r on r.id = i.run_id`,
  standing_decisions: 'holdfast.standing_decisions t join holdfast.runs r on r.id = t.run_id',
  calls: 'holdfast.calls t join holdfast.runs r on r.id = t.run_id',
  charges: 'holdfast.charges t join holdfast.runs r on r.id = t.run_id',
  mcp_pins: 'holdfast.mcp_pins t join holdfast.runs r on r.id = t.run_id',
  snapshots: 'holdfast.snapshots t join holdfast.runs r on r.id = t.run_id',
  mcp_lists: `holdfast.mcp_lists t join holdfast.mcp_pins p on p.tenant = t.tenant and p.digest = t.digest
              join holdfast.runs r on r.id = p.run_id`,
};

const digestOf = (column: string): string => `'sha256:' || encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;

const isLarge = (column: Column<never>): boolean => 'large' in column && column.large === true;

/** Of what may be large, and is only compared, the database sends the digest. */
const columnsOf = (name: CopyName): string =>
  Object.entries<Column<never>>(COPIES[name].columns)
    .flatMap(([column, rule]) =>
      'because' in rule && !COPIES[name].key.includes(column)
        ? []
        : [`${isLarge(rule) ? digestOf(`t.${column}`) : `t.${column}`} as "${column}"`],
    )
    .join(', ');

/** What the rows of other tables add up to that a run has the sums of. */
const SUMS = `, charged.*, below.*`;
const SUMMED = `cross join lateral (
      select case when count(*) = count(nano_usd) then coalesce(sum(nano_usd), 0) end as sum_charged
        from holdfast.charges c where c.run_id = t.id) charged
    cross join lateral (
      select count(*) as sum_below, ${['input_tokens', 'output_tokens', 'total_tokens', 'active_ms', 'cost_nano_usd'].map(belowOf).join(', ')}
        from holdfast.runs b where b.parent_run_id = t.id) below`;

function belowOf(column: string): string {
  const used = `case when b.status in ('completed', 'failed', 'cancelled') then b.${column} else 0 end + b.child_${column}`;
  return `case when count(*) = count(${used}) then coalesce(sum(${used}), 0) end as "sum_child_${column}"`;
}

const selectOf = (name: CopyName): string =>
  `select '${name}' as name, c."run_of_row" as "runId", row_to_json(c)::text as row
     from (select r.id as "run_of_row", r.tenant as "tenant_of_run", ${columnsOf(name)}${name === 'runs' ? SUMS : ''}
             from ${FROM[name]} ${name === 'runs' ? SUMMED : ''} where r.id = any(?)) c`;

/**
 * The rows of some runs, each found by its id. Ids come as JSON: the planner then expects the same number whatever there is, so the
 * connection keeps the plan, which takes longer to make than to execute.
 */
const RUNS = `select c."run_of_row" as "runId", row_to_json(c)::text as row
   from (select t.id as "run_of_row", t.tenant as "tenant_of_run", ${columnsOf('runs')}${SUMS}
           from json_array_elements_text(?::json) as one (id) cross join lateral (
             select ${['id', 'tenant', ...Object.keys(COPIES.runs.columns).filter((column) => !/^(id|tenant|sum_.*)$/.test(column))].join(', ')}
               from holdfast.runs r where r.id = one.id limit 1) t ${SUMMED}) c`;

const STATEMENT = `${COPY_NAMES.map(selectOf).join(' union all ')}
  union all select 'claims', c.id, row_to_json(c)::text from (?) c`;

/** The rows of runs as they are compared, by run. */
export async function runCopies(db: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, StoredRow>> {
  const { rows }: { rows: { runId: string; row: string }[] } = await db.raw(RUNS, [JSON.stringify(ids)]);
  return new Map(rows.map(({ runId, row }) => [runId, JSON.parse(row) as StoredRow]));
}

/** What the row of a run, its head and its key say, and the rows that say again what its log says: all of one moment. */
export interface ClaimedRun {
  readonly claim: ClaimRow;
  readonly copies: StoredCopies;
}

/** Reads them of several runs in one statement, which sees one moment. Runs that are gone are left out. */
export async function readClaimed(db: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, ClaimedRun>> {
  const claimed = claims(db).whereRaw('r.id = any(?)', [[...ids]]);
  const bindings = [...COPY_NAMES.map(() => [...ids]), claimed];
  const { rows }: { rows: { name: CopyName | 'claims'; runId: string; row: string }[] } = await db.raw(
    STATEMENT,
    bindings as Knex.RawBinding[],
  );
  const found = new Map<string, { claim: ClaimRow | null; copies: Record<CopyName, StoredRow[]> }>();
  for (const { name, runId, row } of rows) {
    const of = found.get(runId) ?? { claim: null, copies: noCopies() };
    found.set(runId, of);
    // What PostgreSQL wrote as JSON, from columns that are named here.
    if (name === 'claims') of.claim = JSON.parse(row) as ClaimRow;
    else of.copies[name].push(JSON.parse(row) as StoredRow);
  }
  return new Map([...found].flatMap(([id, { claim, copies }]) => (claim === null ? [] : [[id, { claim, copies }]])));
}

const noCopies = (): Record<CopyName, StoredRow[]> =>
  // As many lists as there are tables.
  Object.fromEntries(COPY_NAMES.map((name) => [name, []])) as unknown as Record<CopyName, StoredRow[]>;

/**
 * Returns the row of a run with what the first events of its log say that the run was started with. What is made of a run begins with
 * that, because the row may have been changed. Logs of older builds do not have all of it. Throws `log_broken`.
 */
export function asLogged(row: RunRow, log: readonly KeyedEvent[]): RunRow {
  const [first, second] = log.slice(0, 2).map(draftOf);
  if (first?.kind !== 'run.created')
    throw new HoldfastError('log_broken', `The log of run ${row.id} does not begin with run.created.`);
  const { agent, agentVersion, agentHash, input, grants, limits, metadata, pinned } = first.data;
  const model = second?.kind === 'run.forked' ? second.data.model : null;
  const placed =
    pinned === undefined
      ? {}
      : { priority: pinned.priority, stream: pinned.stream, scaffold: pinned.scaffold, task_id: pinned.taskId };
  return {
    ...{ ...row, ...placed, agent, agent_version: agentVersion, agent_hash: agentHash, model },
    ...{ input: canonical(input), grants: canonical(grants) },
    ...{ limits: canonical(limits), metadata: canonical(metadata) },
  };
}
