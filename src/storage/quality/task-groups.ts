import type { Knex } from 'knex';
import { isRecord, jsonOrNull } from '../../core/json.js';
import {
  type AttemptFilter,
  GROUPS_MOST,
  type GroupFilter,
  LANGUAGES,
  type Measured,
  SIGNALS_MOST,
  TASK_MEASURES,
  type TaskGrouping,
  type TaskMeasure,
} from '../../core/quality/task-groups.js';
import { BATCH_COUNTED_MOST } from '../../core/tasks/batch.js';
import { whereSame } from '../database/columns.js';

const ENDED = `t.status in ('completed', 'failed')`;
/** The beginning of a tag that names a language. */
const LANGUAGE_TAG = 'language:';

/** The name of the group of a task, and what has to be joined for it. */
const GROUPED: Readonly<Record<TaskGrouping, readonly [name: string, join: string]>> = {
  name: [`t.name || '@' || t.version`, ''],
  agent: ['t.agent', ''],
  agentVersion: [`t.agent || '@' || r.agent_version`, ''],
  model: ['m.name', 'join holdfast.trajectories y on y.run_id = t.run_id, lateral unnest(y.models) m(name)'],
  scaffold: [`coalesce(r.scaffold, 'holdfast')`, ''],
  category: ['t.category', ''],
  difficulty: ['t.difficulty', ''],
  language: [
    'm.name',
    `, lateral (select distinct case when tag like '${LANGUAGE_TAG}%' then substr(tag, ${LANGUAGE_TAG.length + 1}) else tag end
       from unnest(t.tags) g(tag)
      where tag like '${LANGUAGE_TAG}%' or tag in (${LANGUAGES.map((name) => `'${name}'`).join(', ')})) m(name)`,
  ],
  tag: ['m.name', ', lateral (select distinct tag from unnest(t.tags) g(tag)) m(name)'],
  dataset: [
    'm.name',
    `, lateral (select distinct d.dataset || '@' || d.dataset_version from holdfast.dataset_tasks d
       where d.tenant = t.tenant and d.hash = t.definition_hash) m(name)`,
  ],
  day: [`to_char(t.created_at at time zone 'UTC', 'YYYY-MM-DD')`, ''],
};

/** Selects tasks, by the table or query that is called `t`. */
export function whereAttempt(
  db: Knex,
  query: Knex.QueryBuilder,
  tenant: string,
  { dataset, from, to, ...same }: AttemptFilter & GroupFilter,
): void {
  whereSame(query, 't', { tenant, ...same });
  if (from !== undefined) query.whereRaw('t.created_at >= ?::timestamptz', [new Date(from)]);
  if (to !== undefined) query.whereRaw('t.created_at < ?::timestamptz', [new Date(to)]);
  if (dataset === undefined) return;
  const [name = '', version = ''] = dataset.split('@');
  const hashes = db('holdfast.dataset_tasks').where({ tenant, dataset: name, dataset_version: version });
  query.whereIn('t.definition_hash', hashes.select('hash'));
}

/** How many attempts each agent made at each definition and how many passed, by agents; at most one row more than is shown. */
export async function attemptedRows(
  db: Knex,
  tenant: string,
  { by, limit, ...filter }: AttemptFilter & { readonly by?: TaskGrouping; readonly limit: number },
): Promise<readonly { agent: string; group: string | null; attempts: number; passed: number }[]> {
  const [name, join] = by === undefined ? ['null::text', ''] : GROUPED[by];
  const attempts = db('holdfast.tasks as t').select('t.*').whereNot({ 't.result_type': 'error' });
  whereAttempt(db, attempts, tenant, filter);
  const { rows } = await db.raw(
    `with t as (?)
     select t.agent, ${name} as "group", count(*)::int as attempts,
            (count(*) filter (where t.result_type = 'success'))::int as passed
       from t join holdfast.runs r on r.id = t.run_id ${join}
      group by 1, 2, t.definition_hash order by 1, 2, t.definition_hash limit ?`,
    [attempts, limit],
  );
  return rows;
}

const MEASURED: Readonly<Record<TaskMeasure, string>> = {
  reward: 'coalesce(t.reward, 0)',
  quality: 'x.quality',
  diversity: 'x.diversity',
  turns: 'r.turns',
  tokens: 'r.total_tokens + r.child_total_tokens',
  activeMs: 'r.active_ms',
  usd: '(r.cost_nano_usd + r.child_cost_nano_usd) / 1e9',
};

/** Digits that no mean needs are left to the database. */
const measuresSql = TASK_MEASURES.map((measure) => {
  const of = `((${MEASURED[measure]})::float8) filter (where ${ENDED})`;
  return `'${measure}', json_build_object('n', count${of}, 'mean', avg${of}, 'variance', var_samp${of})`;
}).join(', ');

export interface GroupRow {
  readonly name: string;
  readonly tasks: number;
  readonly ended: number;
  readonly passed: number;
  readonly nano_usd: string;
  readonly unpriced: number;
  readonly measures: Readonly<Record<TaskMeasure, Measured>>;
}

type Asked = GroupFilter & {
  readonly tenant: string;
  readonly by: TaskGrouping;
  /** Only groups of these names. */
  readonly only?: readonly string[];
};

function newest(db: Knex, { tenant, by: _by, only: _only, ...filter }: Asked): Knex.QueryBuilder {
  const query = db('holdfast.tasks as t')
    .select('t.*')
    .orderBy(['t.created_at', 't.id'].map((column) => ({ column, order: 'desc' as const })))
    .limit(BATCH_COUNTED_MOST + 1);
  whereAttempt(db, query, tenant, filter);
  return query;
}

/** The newest tasks that fit, by something that they have. Of models those are known that runs asked which are over. */
export async function groupTaskRows(
  db: Knex,
  asked: Asked,
): Promise<{ readonly rows: readonly GroupRow[]; readonly looked: number }> {
  const [name, join] = GROUPED[asked.by];
  const { rows }: { rows: (GroupRow & { looked: number })[] } = await db.raw(
    `with t as materialized (?)
     select ${name} as name, count(*)::int as tasks, count(*) filter (where ${ENDED})::int as ended,
            count(*) filter (where ${ENDED} and t.verification_passed)::int as passed,
            coalesce(sum(r.cost_nano_usd + r.child_cost_nano_usd), 0)::text as nano_usd,
            count(*) filter (where r.cost_nano_usd + r.child_cost_nano_usd is null)::int as unpriced,
            json_build_object(${measuresSql}) as measures,
            (select count(*)::int from t) as looked
       from t join holdfast.runs r on r.id = t.run_id left join holdfast.trajectories x on x.run_id = t.run_id ${join}
      where (?::text[] is null or ${name} = any(?))
      group by 1 order by 2 desc, 1 limit ${GROUPS_MOST}`,
    [newest(db, asked), asked.only === undefined ? null : [...asked.only], [...(asked.only ?? [])]],
  );
  return { rows, looked: rows[0]?.looked ?? 0 };
}

/** A reward whose signals are longer is left out. */
const SIGNALS_BYTES = 1000;

export interface Signal {
  readonly name: string;
  readonly n: number;
  readonly mean: number;
}

/** The signals of the last rewards of the same tasks, by group: what of a judgement is a text is read as such. */
export async function rewardSignals(db: Knex, asked: Asked): Promise<ReadonlyMap<string, readonly Signal[]>> {
  const [name, join] = GROUPED[asked.by];
  const { rows }: { rows: { name: string; signals: string; n: number }[] } = await db.raw(
    `with t as materialized (?)
     select ${name} as name, s.signals, count(*)::int as n
       from t join holdfast.runs r on r.id = t.run_id
       join lateral (select substring(w.data from '"signals":(\\{.*\\}),"verificationPassed":') as signals
                       from holdfast.rewards w where w.run_id = t.run_id order by w.version desc limit 1) s
         on octet_length(s.signals) between 3 and ${SIGNALS_BYTES} ${join}
      where ${ENDED} and (?::text[] is null or ${name} = any(?)) group by 1, 2`,
    [newest(db, asked), asked.only === undefined ? null : [...asked.only], [...(asked.only ?? [])]],
  );
  const groups = new Map<string, Map<string, { n: number; sum: number }>>();
  for (const { name: group, signals, n } of rows) {
    const sums = groups.get(group) ?? new Map<string, { n: number; sum: number }>();
    groups.set(group, sums);
    const read = jsonOrNull(signals);
    for (const [signal, value] of Object.entries(isRecord(read) ? read : {})) {
      if (typeof value !== 'number') continue;
      const { n: before, sum } = sums.get(signal) ?? { n: 0, sum: 0 };
      sums.set(signal, { n: before + n, sum: sum + n * value });
    }
  }
  return new Map([...groups].map(([group, sums]) => [group, meansOf(sums)]));
}

const meansOf = (sums: ReadonlyMap<string, { readonly n: number; readonly sum: number }>): readonly Signal[] =>
  [...sums]
    .map(([name, { n, sum }]) => ({ name, n, mean: sum / n }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, SIGNALS_MOST);
