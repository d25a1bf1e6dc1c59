import { join } from 'node:path';
import { Agent, MCPServerStdio } from '@openai/agents';
import { type Caller, createEngine, defineAgent, functionModel } from '../../src/index.js';

/** One process of the crash test: its MCP server kills it in the middle of a call; the next one says what is left. */
const me: Caller = { actor: 'ada', role: 'admin', tenant: 'default' };
const file = process.env['MCP_EFFECTS_FILE'] ?? '';
const files = new MCPServerStdio({
  name: 'files',
  command: process.execPath,
  args: [join(import.meta.dirname, 'stdio-server.js')],
  env: { MCP_EFFECTS_FILE: file },
});
const model = functionModel('scripted', (request) => {
  const results = (typeof request.input === 'string' ? [] : request.input).filter(
    (item) => item.type === 'function_call_result',
  );
  if (results.length === 0)
    return [{ type: 'function_call', callId: 'c1', name: 'strike', arguments: '{}', status: 'completed' }];
  const text = JSON.stringify(results.map((item) => ('output' in item ? item.output : null)));
  return [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }];
});
const engine = await createEngine({
  agents: [defineAgent({ agent: new Agent({ name: 'a', model, mcpServers: [files] }), grants: ['mcp:call:files/*'] })],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
});
const { id } = await engine.startRun({ agent: 'a', input: 'go' }, me, 'the-run');
const paused = await engine.getRun(id, me, { waitMs: 30_000 });
const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, me);
for (const item of items) await engine.decide(item.id, { verdict: 'answer', value: 'seen' }, me);
const run = await engine.getRun(id, me, { waitMs: 30_000 });
const report = {
  paused: paused.status,
  reasons: items.map((item) => item.reason),
  status: run.status,
  output: run.output,
};
process.stdout.write(JSON.stringify(report));
await engine.stop();
