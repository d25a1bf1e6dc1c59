import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/database.js';
import { createEngineDatabase, describeEachDatabase } from '../harness/database.js';
import { codes, names, pageText, ROOT, section } from './pages.js';
import { dumpSchema, type SchemaDump } from './schema.js';

const GOLDEN = join(ROOT, 'test/golden/schema.json');

/** HOLDFAST_WRITE_GOLDEN=1 writes the file anew, after a migration was added. */
const WRITE = process.env['HOLDFAST_WRITE_GOLDEN'] === '1';

describeEachDatabase('the schema', (kind) => {
  let dump: SchemaDump;

  beforeAll(async () => {
    const { options, drop } = await createEngineDatabase(kind);
    const database = await openDatabase(options);
    try {
      dump = await dumpSchema(database.knex);
    } finally {
      await database.close();
      await drop();
    }
  });

  it('is the golden one', () => {
    if (WRITE && kind === 'pglite') writeFileSync(GOLDEN, `${JSON.stringify(dump, null, 2)}\n`);
    expect(dump).toEqual(JSON.parse(readFileSync(GOLDEN, 'utf8')));
  });

  describe('docs/schema.md', () => {
    const page = pageText('docs/schema.md');
    const headings = page.split('\n').flatMap((line) => (/^### `/.test(line) ? codes(line) : []));

    it('has every table, and no other', () => {
      expect([...headings].sort()).toEqual(Object.keys(dump).sort());
    });

    it('has every column of every table, and no other', () => {
      const documented = Object.fromEntries(headings.map((table) => [table, names(section(page, `### \`${table}\``))]));
      const real = Object.fromEntries(
        Object.entries(dump).map(([table, { columns }]) => [table, Object.keys(columns)]),
      );
      expect(documented).toEqual(real);
    });
  });
});
