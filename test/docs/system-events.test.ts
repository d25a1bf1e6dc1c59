import { expect, it } from 'vitest';
import { z } from 'zod';
import { SYSTEM_EVENT_DATA, SYSTEM_EVENT_KINDS, systemEvent } from '../../src/core/log/system-event.js';
import { codes, names, pageText, rows, section } from './pages.js';

const page = pageText('docs/system-events.md');

it('docs/system-events.md has every field of an event of the system, and no other', () => {
  expect(names(section(page, '## Fields'))).toEqual(Object.keys(systemEvent.shape));
});

it('docs/system-events.md has every kind with the fields of its data, and no other', () => {
  const documented = rows(section(page, '## Kinds')).map(([kind = '', , data = '']) => [codes(kind)[0], codes(data)]);
  const real = SYSTEM_EVENT_KINDS.map((kind) => {
    const shape = SYSTEM_EVENT_DATA[kind];
    return [kind, shape instanceof z.ZodObject ? Object.keys(shape.shape) : []];
  });
  expect(documented).toEqual(real);
});

it('docs/system-events.md maps a name of other systems to every kind', () => {
  const mapped = section(page, '## Names')
    .split('\n')
    .flatMap((line) => (/^\| [A-Z]\w+ \|/.test(line) ? codes(line) : []));
  expect(mapped).toEqual([...SYSTEM_EVENT_KINDS]);
});
