import { createHash } from 'node:crypto';
import { Agent, type Model, Usage } from '@openai/agents';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from 'holdfast';
import { z } from 'zod';
import { peakMemory } from './peak-memory.js';
import type { Place } from './place.js';

/** One process that executes one run with large results or a large input. Prints its memory at most, and waits to be ended. */

interface PayloadJob {
  readonly place: Place;
  readonly results: number;
  readonly resultBytes: number;
  readonly inputBytes: number;
}

const { place, results, resultBytes, inputBytes }: PayloadJob = JSON.parse(process.argv[2] ?? '{}');
const MB = 1024 * 1024;
const WAIT_MS = 600_000;
const DIGEST_BYTES = 64;

/** A text that no compression makes shorter than half: as large documents are stored, or longer. */
function textOf(seed: string, bytes: number): string {
  const parts: string[] = [];
  for (let n = 0; n * DIGEST_BYTES < bytes; n++) parts.push(createHash('sha256').update(`${seed} ${n}`).digest('hex'));
  return parts.join('').slice(0, bytes);
}

const model: Model = {
  getResponse: async ({ input }) => {
    const items: readonly { readonly type?: string | undefined }[] = typeof input === 'string' ? [] : input;
    const done = items.filter((item) => item.type === 'function_call_result').length;
    const usage = new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 });
    const responseId = `r${done}`;
    if (done < results) {
      const call = { type: 'function_call', name: 'read', callId: `c${done}`, status: 'completed' } as const;
      return { usage, responseId, output: [{ ...call, arguments: JSON.stringify({ n: done }) }] };
    }
    const content = [{ type: 'output_text' as const, text: 'enough' }];
    return { usage, responseId, output: [{ type: 'message', role: 'assistant', status: 'completed', content }] };
  },
  getStreamedResponse: () => {
    throw new Error('nothing here streams');
  },
};

const read = defineTool({
  ...{ name: 'read', description: 'Reads.', input: z.object({ n: z.number() }), output: z.string() },
  ...{ effect: 'pure' as const, capabilities: ['bench:read:documents'], maxOutputBytes: 64 * MB },
  execute: async ({ n }) => textOf(`result ${n}`, resultBytes),
});
const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'reader', model, instructions: 'Read until it is enough.', tools: [read] }),
      grants: ['bench:read:*'],
      maxTurns: 10_000,
    }),
  ],
  ...place,
  workerId: 'bench',
});
const input = textOf('input', inputBytes);
const peak = peakMemory();
const begun = performance.now();
const { id } = await engine.startRun({ agent: 'reader', input }, LOCAL_CALLER);
const { status, error } = await engine.getRun(id, LOCAL_CALLER, { waitMs: WAIT_MS });
if (status !== 'completed') throw new Error(`the run is ${status}: ${JSON.stringify(error)}`);
const ms = performance.now() - begun;
process.stdout.write(`${JSON.stringify({ ms, mb: peak() })}\n`);
await engine.stop();
process.exit(0);
