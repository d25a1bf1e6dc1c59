import { expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/core/operations/table.js';
import { readCursor, writeCursor } from '../../../src/core/page.js';
import { memoryKey } from '../../../src/core/tools/memory-change.js';

test('a list of memory takes the cursor that a page gives, however long the names in it are', () => {
  // A control character takes the most room in JSON.
  for (const letter of ['a', '漢', '\u0001']) {
    const name = memoryKey.parse(letter.repeat(200));
    const cursor = writeCursor([name, name]);
    expect(OPERATIONS.listMemory.query.parse({ cursor })).toMatchObject({ cursor });
    expect(readCursor(cursor, z.tuple([z.string(), z.string()]))).toEqual([name, name]);
  }
});
