import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/** What runs lost (erased, removed) stands in the log over all runs itself. What was lost before is entered now. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('log_entries', (table) => {
    table.text('loss').nullable();
    table.text('actor').nullable();
    table.text('reason').nullable();
    table.setNullable('state_hash');
    table.setNullable('complete');
    table.dropUnique(['run_id', 'seq']);
  });
  await knex.raw(
    `create unique index log_entries_run_id_seq_loss_unique on holdfast.log_entries (run_id, seq, (coalesce(loss, '')))`,
  );
  const { rows: size } = await knex.raw('select coalesce(max(index) + 1, 0)::float8 as n from holdfast.log_entries');
  const edge = await edgeOf(knex, size[0].n);
  // A tree that somebody has damaged takes no entries. That is found by verifying it, and keeps nobody from migrating.
  if (edge === null) return;
  for (let next: number | null = size[0].n; next !== null; ) next = await enterSome(knex, edge, next);
}

const AT_ONCE = 1000;

interface Lost {
  readonly loss: string;
  readonly run_id: string;
  readonly tenant: string;
  readonly seq: number;
  readonly hash: string;
  readonly actor: string;
  readonly reason: string;
  readonly previous: string | null;
}

/** Enters the next of what was lost and has no entry. Gives the size of the log then; null: all is entered. */
async function enterSome(knex: Knex, edge: string[], from: number): Promise<number | null> {
  const { rows }: { rows: Lost[] } = await knex.raw(
    `select l.*, b.previous from (
       select 'erased' as loss, run_id, tenant, seq, hash, actor, reason, erased_at as at from holdfast.erasures
       union all
       select 'removed', run_id, tenant, seq, hash, actor, reason, removed_at from holdfast.removed_runs) l
       left join lateral (select left(p.hashes, 64) as previous from holdfast.log_entries p
                           where p.run_id = l.run_id and p.loss is null order by p.seq desc limit 1) b on true
      where not exists (select from holdfast.log_entries e where e.run_id = l.run_id and e.loss = l.loss)
      order by l.at, l.run_id, l.loss limit ${AT_ONCE}`,
  );
  const entries = rows.map(({ loss, run_id, tenant, seq, hash, actor, reason, previous }, place) => {
    const index = from + place;
    // Canonical JSON: members in the order of their names.
    const leaf = JSON.stringify({ actor, hash, loss, previous, reason, runId: run_id, seq, tenant, v: 1 });
    const hashes = append(edge, index, sha256(Buffer.of(0), Buffer.from(leaf, 'utf8')));
    return { index, tenant, run_id, seq, hash, previous, loss, actor, reason, hashes };
  });
  await knex.raw(
    `insert into holdfast.log_entries (index, tenant, run_id, seq, hash, previous, loss, actor, reason, hashes)
     select index, tenant, run_id, seq, hash, previous, loss, actor, reason, hashes
       from json_populate_recordset(null::holdfast.log_entries, ?::json)`,
    [JSON.stringify(entries)],
  );
  return rows.length < AT_ONCE ? null : from + rows.length;
}

const sha256 = (...parts: readonly Buffer[]): string => createHash('sha256').update(Buffer.concat(parts)).digest('hex');

/** The hashes of the full subtrees that the log consists of, the greatest first; null: one is missing. */
async function edgeOf(knex: Knex, size: number): Promise<string[] | null> {
  const edge: string[] = [];
  for (let from = 0; from < size; ) {
    let [width, level] = [1, 0];
    while (width * 2 <= size - from) [width, level] = [width * 2, level + 1];
    from += width;
    const row = await knex('holdfast.log_entries')
      .where({ index: from - 1 })
      .first('hashes');
    const hash = String(row?.hashes ?? '').slice(level * 64, level * 64 + 64);
    if (hash.length !== 64) return null;
    edge.push(hash);
  }
  return edge;
}

/** Adds a leaf. Gives the hashes of the full subtrees that end with it. */
function append(edge: string[], size: number, leaf: string): string {
  const ending = [leaf];
  let top = leaf;
  for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    top = sha256(Buffer.of(1), Buffer.from(edge.pop() ?? '', 'hex'), Buffer.from(top, 'hex'));
    ending.push(top);
  }
  edge.push(top);
  return ending.join('');
}
