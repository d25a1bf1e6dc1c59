import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { serveHttp } from '../mcp/server.js';

/** What the example of docs/agents/mcp.md speaks to: the program that npx would fetch, and the server at the address of the page. */

const FILES = `
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [yes, name, root] = process.argv.slice(2);
if (yes !== '-y' || name !== '@modelcontextprotocol/server-filesystem') throw new Error('another program was asked for');
process.chdir(root);
const say = (text) => ({ content: [{ type: 'text', text }] });
const path = z.string();
serveStdio(() => {
  const server = new McpServer({ name, version: '1.0.0' });
  server.registerTool('read_text_file', { description: 'Reads.', inputSchema: z.object({ path }) }, (given) =>
    say(readFileSync(given.path, 'utf8')),
  );
  server.registerTool('write_file', { description: 'Writes.', inputSchema: z.object({ path, content: path }) }, (given) => {
    writeFileSync(given.path, given.content);
    return say('written');
  });
  server.registerTool('delete_file', { description: 'Deletes.', inputSchema: z.object({ path }) }, (given) => {
    rmSync(given.path);
    return say('deleted');
  });
  return server;
});
`;

const ADDRESS = 'https://tickets.example.com';

function ticketServer(): McpServer {
  const server = new McpServer({ name: 'tickets', version: '1.0.0' });
  const inputSchema = z.object({ title: z.string() });
  server.registerTool('create_ticket', { description: 'Creates a ticket.', inputSchema }, async ({ title }) => ({
    content: [{ type: 'text', text: `ticket ${title}` }],
  }));
  return server;
}

export async function mcpWorld(folder: string) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'files.mjs'), FILES);
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nexec '${process.execPath}' '${join(bin, 'files.mjs')}' "$@"\n`);
  chmodSync(join(bin, 'npx'), 0o755);
  const tickets = await serveHttp(ticketServer);
  const { PATH } = process.env;
  const { fetch } = globalThis;
  process.env['PATH'] = `${bin}:${PATH}`;
  globalThis.fetch = (input, init) => fetch(String(input).replace(ADDRESS, `http://127.0.0.1:${tickets.port}`), init);
  return {
    end: async () => {
      process.env['PATH'] = PATH;
      globalThis.fetch = fetch;
      await tickets.close();
    },
  };
}
