import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { leave } from './world.js';

/** The MCP server of the crash test: its tools leave a line in the world, and die with their caller where they are told to. */
function office(): McpServer {
  const server = new McpServer({ name: 'office', version: '1.0.0' });
  for (const name of ['look', 'pay', 'transfer']) {
    server.registerTool(name, { description: `Does ${name}.`, inputSchema: z.object({ n: z.number() }) }, async () => {
      leave(name, `call_${name}`);
      return { content: [{ type: 'text', text: `${name} done` }] };
    });
  }
  return server;
}

serveStdio(office);
