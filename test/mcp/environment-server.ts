import { createHash } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** An MCP server that says what its environment is: the names of its variables, and the digest of one. */
serveStdio(() => {
  const server = new McpServer({ name: 'environment', version: '1.0.0' });
  server.registerTool('look', { description: 'Looks.', inputSchema: z.object({}) }, async () => {
    const digest = createHash('sha256')
      .update(process.env['TOKEN'] ?? '')
      .digest('hex');
    const text = JSON.stringify({ names: Object.keys(process.env).toSorted(), digest, plain: process.env['PLAIN'] });
    return { content: [{ type: 'text', text }] };
  });
  return server;
});
