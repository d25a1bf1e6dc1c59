import { type Model, type ModelRequest, type ModelResponse, Usage } from '@openai/agents';
import { z } from 'zod';

/** The work of every run that is measured, the same on both sides: a scripted model and a tool that costs nothing. */

/** What goes through every call, in and out. */
const PAD = 'y'.repeat(2000);

export const INSTRUCTIONS = 'Add until it is enough.';
export const addInput = z.object({ n: z.number(), text: z.string() });

let executed = 0;
/** How often the tool ran in this process. */
export const executedCalls = (): number => executed;

export function add({ text }: z.infer<typeof addInput>): string {
  executed++;
  return text;
}

interface Item {
  readonly type?: string | undefined;
  readonly role?: string | undefined;
  readonly content?: unknown;
}

const wantedTurns = (items: readonly Item[]): number => {
  const content = items.find((item) => item.role === 'user')?.content;
  return Number(typeof content === 'string' ? content : 0);
};

/** The n-th call that the model asks for. */
export const callOf = (n: number) => ({
  name: 'add',
  callId: `c${n}`,
  arguments: JSON.stringify({ n, text: PAD }),
});

/** Calls `add` once a turn, as often as the input of the run says, then ends. */
export function answer({ input }: ModelRequest): ModelResponse {
  const items: readonly Item[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const done = items.filter((item) => item.type === 'function_call_result').length;
  const usage = new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 });
  if (done >= wantedTurns(items)) {
    const content = [{ type: 'output_text' as const, text: 'enough' }];
    return {
      usage,
      responseId: `r${done}`,
      output: [{ type: 'message', role: 'assistant', status: 'completed', content }],
    };
  }
  const call = { type: 'function_call' as const, ...callOf(done), status: 'completed' as const };
  return { usage, responseId: `r${done}`, output: [call] };
}

/** Answers after so many milliseconds. */
export const scriptedModel = (delayMs: number): Model => ({
  getResponse: async (request) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    return answer(request);
  },
  getStreamedResponse: () => {
    throw new Error('nothing here streams');
  },
});
