import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { testServer } from './server.js';

/** The MCP server of the tests as a program of its own. */
const file = process.env['MCP_EFFECTS_FILE'] ?? '';
serveStdio(() => testServer(file, { description: 'Writes.' }));
