import { Agent } from '@openai/agents';
import { createEngine, defineAgent, defineConfig, LOCAL_CALLER, memorySpace, memoryTools } from 'holdfast';
import { z } from 'zod';
import { asked, call, results, say, scripted } from '../scripted-model.js';

const customers = memorySpace({ name: 'customers', scope: 'user', schema: z.object({ drink: z.string() }) });

const model = scripted((request) => {
  const [result] = results(request);
  const [, drink] = /I like (\w+)/.exec(asked(request)) ?? [];
  if (result === undefined && drink !== undefined)
    return [call('remember', { space: 'customers', key: 'taste', content: JSON.stringify({ drink }) })];
  if (result === undefined) return [call('recall', { space: 'customers', key: 'taste' })];
  if (drink !== undefined) return [say('I shall remember that.')];
  const [, known] = /"drink":"(\w+)"/.exec(result) ?? [];
  return [say(known === undefined ? 'I do not know you yet.' : `You like ${known}.`)];
});

const config = defineConfig({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'support', model: 'scripted/support', tools: [...memoryTools(customers)] }),
      memory: [customers],
      grants: ['memory:read:customers', 'memory:write:customers'],
    }),
  ],
  providers: { scripted: model },
});

const engine = await createEngine({
  ...config,
  ...{ databaseUrl: null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast' },
});

async function talk(customer: string, input: string): Promise<void> {
  const { id } = await engine.startRun({ agent: 'support', input, subjects: [customer] }, LOCAL_CALLER);
  const { output } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
  console.log(`${customer}: ${input} -> ${output}`);
}

await talk('ann', 'I like tea.');
await talk('ann', 'What do I like?');
await talk('bob', 'What do I like?');
// Ann asks to be forgotten: her runs and her documents are erased, and the log says so.
await engine.eraseSubject({ subject: 'ann', reason: 'She asked for it.' }, LOCAL_CALLER);
await talk('ann', 'What do I like?');
await engine.stop();
