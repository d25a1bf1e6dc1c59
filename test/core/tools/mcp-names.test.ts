import { expect, it } from 'vitest';
import { serverLabel } from '../../../src/core/tools/mcp.js';

/** Names of MCP servers as capabilities write them. */

it.each([
  ['files', 'files'],
  ['_files_', '_files_'],
  ['__', '__'],
  ['.-x', '.-x'],
  ['stdio: node', 'stdio_node'],
  [' my files! ', 'my_files'],
  ['\u65e5a\u672cb', 'a_b'],
  ['streamable-http: https://ann:pass@tickets.example/mcp/?token=x', 'streamable-http_tickets.example_mcp'],
])('%j is %s', (name, label) => {
  expect(serverLabel(name)).toBe(label);
});

it.each(['', '*', '\u65e5\u672c', '://'])('%j is refused: nothing of it is left', (name) => {
  expect(() => serverLabel(name)).toThrow(expect.objectContaining({ code: 'agent_invalid' }));
});
