import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checksOf, strictest } from '../../../src/core/grants/capability.js';
import { parseGrants } from '../../../src/core/grants/grants.js';
import { defineTool } from '../../../src/index.js';
import { toolSpecOf } from '../../../src/tools/define/define-tool.js';

/** What a call needs, as the function of its tool says. */

const tool = (capabilities: () => string[]) =>
  toolSpecOf(
    defineTool({
      ...{ name: 'copy', description: 'Copies files.', input: z.object({}), output: z.null(), effect: 'pure' as const },
      ...{ capabilities, execute: () => null },
    }),
  );
const checked = (capabilities: () => string[]) => checksOf(parseGrants(['fs:read:/data/**']), tool(capabilities), {});

describe('A call that needs many capabilities', () => {
  const many = (count: number) => () => Array.from({ length: count }, (_, n) => `fs:read:/data/${n}`);

  it('is checked for each of them, up to a thousand', () => {
    const checks = checked(many(1000));
    expect(checks).toHaveLength(1000);
    expect(strictest(checks)).toBe('allow');
  });

  it('is denied above that, with one check that says so', () => {
    expect(checked(many(1001))).toEqual([
      {
        ...{ capability: 'tool:call:copy', effect: 'deny', rule: null },
        reason: 'the call needs 1001 capabilities, more than 1000',
      },
    ]);
  });

  it('is denied where the tool throws, in its words', () => {
    const [check] = checked(() => {
      throw new Error('no idea');
    });
    expect(check).toMatchObject({ effect: 'deny', reason: expect.stringContaining('no idea') });
  });
});
