import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ROOT } from '../architecture/sources.js';
import { code, table } from './markdown.js';

/** Texts of the tables and their columns, beside the migrations that make them. */
const TEXTS = 'migrations/tables.json';
/** What a database has, which test/docs/schema.test.ts compares with one. */
const GOLDEN = 'test/golden/schema.json';

const groups = z.array(
  z.object({
    title: z.string(),
    about: z.string(),
    tables: z.array(z.object({ name: z.string(), about: z.string(), columns: z.record(z.string(), z.string()) })),
  }),
);
const schema = z.record(z.string(), z.object({ columns: z.record(z.string(), z.string()) }));

const json = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

function assertSame(what: string, real: readonly string[], described: readonly string[]): void {
  const wrong = [
    ...real.filter((name) => !described.includes(name)).map((name) => `${name} has no text`),
    ...described.filter((name) => !real.includes(name)).map((name) => `${name} does not exist`),
  ];
  if (wrong.length > 0) throw new Error(`${what}: ${wrong.join(', ')}. Correct ${TEXTS}.`);
}

/** Throws where a table or a column of the schema has no text, or a text has no table or column. */
export function schemaBlock(): string {
  const [texts, real] = [groups.parse(json(TEXTS)), schema.parse(json(GOLDEN))];
  assertSame(
    'Tables',
    Object.keys(real),
    texts.flatMap(({ tables }) => tables.map(({ name }) => name)),
  );
  const section = ({ name, about, columns }: z.infer<typeof groups>[number]['tables'][number]): string => {
    const types = real[name]?.columns ?? {};
    assertSame(`Columns of ${name}`, Object.keys(types), Object.keys(columns));
    const rows = Object.entries(types).map(([column, type]) => [code(column), code(type), columns[column] ?? '']);
    return [`### ${code(name)}`, about, table(['Column', 'Type', 'Meaning'], rows)].join('\n\n');
  };
  return texts
    .flatMap(({ title, about, tables }) => [`## ${title}`, ...(about === '' ? [] : [about]), ...tables.map(section)])
    .join('\n\n');
}
