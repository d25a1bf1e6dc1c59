import { expect, it } from 'vitest';
import { parseDefinitions } from '../../../src/core/tools/mcp.js';

it.each([
  ['no list', { tools: [] }, 'it is no list'],
  ['nothing', null, 'it is no list'],
  ['a tool without a schema', [{ name: 'a' }], 'tool 0 is wrong at `inputSchema`'],
  ['a tool that is none', [null], 'tool 0 is wrong'],
])('a server that lists %s is named, with what is wrong', (_what, listed, why) => {
  const list = () => parseDefinitions('files', listed);
  expect(list).toThrow(expect.objectContaining({ code: 'mcp_list_invalid' }));
  expect(list).toThrow(why);
});
