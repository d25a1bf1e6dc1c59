import type { Knex } from 'knex';

/** What a database has of the schema `holdfast`, as plain JSON in a fixed order. */
export interface SchemaDump {
  readonly [table: string]: {
    readonly columns: { readonly [column: string]: string };
    readonly constraints: readonly string[];
    readonly indexes: readonly string[];
  };
}

interface Row {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

const COLUMNS = `
  select c.relname as table, a.attname as name,
         format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
           || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as definition
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'holdfast'
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where a.attnum > 0 and not a.attisdropped
   order by c.relname, a.attnum`;

/** Without the constraints of "not null", which newer servers list as rows of their own. */
const CONSTRAINTS = `
  select c.relname as table, o.conname as name, pg_get_constraintdef(o.oid) as definition
    from pg_constraint o
    join pg_class c on c.oid = o.conrelid
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'holdfast'
   where o.contype <> 'n'
   order by c.relname, o.conname`;

const INDEXES = `
  select tablename as table, indexname as name, indexdef as definition
    from pg_indexes where schemaname = 'holdfast' order by tablename, indexname`;

export async function dumpSchema(knex: Knex): Promise<SchemaDump> {
  const read = async (sql: string): Promise<readonly Row[]> => (await knex.raw<{ rows: Row[] }>(sql)).rows;
  const [columns, constraints, indexes] = [await read(COLUMNS), await read(CONSTRAINTS), await read(INDEXES)];
  const of = (found: readonly Row[], table: string) => found.filter((row) => row.table === table);
  return Object.fromEntries(
    [...new Set(columns.map(({ table }) => table))].map((table) => [
      table,
      {
        columns: Object.fromEntries(of(columns, table).map(({ name, definition }) => [name, definition])),
        constraints: of(constraints, table).map(({ name, definition }) => `${name}: ${definition}`),
        indexes: of(indexes, table).map(({ definition }) => definition),
      },
    ]),
  );
}
