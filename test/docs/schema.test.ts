import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { GUARDED_ROUTES } from '../../src/http/routes.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabase } from '../harness/database.js';
import { codes, pageText, ROOT, section } from './pages.js';
import { dumpSchema, type SchemaDump } from './schema.js';

const GOLDEN = join(ROOT, 'test/golden/schema.json');

/** HOLDFAST_WRITE_GOLDEN=1 writes the file again, after a migration was added. */
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

    it('names the tables that keep rows of a run which is gone', () => {
      const [, list = ''] = /These name a run and stay without it:(.*?)\n- /s.exec(page) ?? [];
      const goWith = (table: string): boolean =>
        (dump[table]?.constraints ?? []).some((text) =>
          /REFERENCES holdfast\.(runs|interruptions)\(id\) ON DELETE CASCADE/.test(text),
        );
      const named = Object.keys(dump).filter((table) => 'run_id' in (dump[table]?.columns ?? {}) && !goWith(table));
      const byHand = ['emitted_events', 'dispatch_starts'];
      expect([...codes(list)].sort()).toEqual(
        [...named, 'access_log'].filter((table) => !byHand.includes(table)).sort(),
      );
    });

    it('names every route whose requests are kept in access_log, and no other', () => {
      const listed = codes(section(page, '### `access_log`')).filter((code) => /^(GET|POST|DELETE) /.test(code));
      const kept = GUARDED_ROUTES.flatMap(({ audited, method, path }) =>
        audited === true ? [`${method} ${path}`] : [],
      );
      expect([...listed].sort()).toEqual(kept.sort());
    });
  });
});
