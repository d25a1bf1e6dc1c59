import type { ServerResponse } from 'node:http';
import { type Answerer, cutInto, writePieces } from './wire-server.js';

/** What OpenAI's `POST /v1/responses` says, streamed as server-sent events or whole, as the request asks. */

export const textOutput = (text: string, id = 'msg_1'): object => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

export const callOutput = (callId: string, name: string, args: object): object => ({
  type: 'function_call',
  id: `fc_${callId}`,
  call_id: callId,
  name,
  arguments: JSON.stringify(args),
  status: 'completed',
});

const usage = {
  input_tokens: 11,
  output_tokens: 7,
  total_tokens: 18,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

const response = (output: readonly object[], status: string) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'test',
  status,
  output,
  usage,
});

const sse = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

function stream(output: readonly object[], text: string): string {
  const deltas = [...text].map((delta) =>
    sse('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta }),
  );
  return [
    sse('response.created', { response: response([], 'in_progress') }),
    ...deltas,
    sse('response.completed', { response: response(output, 'completed') }),
  ].join('');
}

const begin = (to: ServerResponse) => to.writeHead(200, { 'content-type': 'text/event-stream' });

export const responds =
  (output: readonly object[], text = ''): Answerer =>
  async (to, { body }) => {
    if (body['stream'] !== true) {
      to.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response(output, 'completed')));
      return;
    }
    begin(to);
    await writePieces(to, cutInto(Buffer.from(stream(output, text), 'utf8'), 61), 1);
    to.end();
  };
