import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { logRecord } from '../../src/core/ops/log-record.js';
import { codes, names, pageText, ROOT, rows, section } from './pages.js';

const page = pageText('docs/operate/logs.md');

/** Every pair of component and event that a line of the code says. */
function saidInCode(): readonly string[] {
  const files = ['src', 'steps', 'workflows'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(ROOT, folder, name)),
  );
  return files
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      const found = [...text.matchAll(/component: '(\w+)',\s+event: (?:'(\w+)'|`(\w+)\$\{(\w+)\}`)/g)];
      return found.flatMap(([, component = '', event, prefix]) =>
        event === undefined
          ? ['away', 'full', 'read_only'].map((trouble) => `${component} ${prefix}${trouble}`)
          : [`${component} ${event}`],
      );
    });
}

it('docs/operate/logs.md has every line that is said, and no other', () => {
  const documented = rows(section(page, '## Lines')).map(([component = '', event = '']) =>
    [...codes(component), ...codes(event)].join(' '),
  );
  expect(documented.toSorted()).toEqual([...new Set(saidInCode())].toSorted());
});

it('docs/operate/logs.md has every field of a line, in its order', () => {
  const fields = { component: 'a', event: 'b', taskId: 't', runId: 'r', workerId: 'w', more: 1 };
  const record = ['level', 'timestamp', ...Object.keys(logRecord(fields, 'm'))];
  expect(names(section(page, '## Fields'))).toEqual(record);
});
