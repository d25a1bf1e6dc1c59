import type { Said, Wire } from './wire.js';

/** `POST /v1/messages` of Anthropic, as its documentation shows it: whole, and as server-sent events. */

/** Of 11 tokens of input 4 were read from the cache; Anthropic counts these beside `input_tokens`. */
const usage = { input_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 7 };

export const THOUGHT = 'The user asks about the weather.';

const blocksOf = ({ reasoning, text, calls = [] }: Said): readonly Record<string, unknown>[] => [
  ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: THOUGHT, signature: reasoning }]),
  ...(text === undefined ? [] : [{ type: 'text', text }]),
  ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
];

const stopOf = ({ calls = [] }: Said) => (calls.length > 0 ? 'tool_use' : 'end_turn');

const message = (content: readonly object[], stop: string | null, id: string) => ({
  ...{ id, type: 'message', role: 'assistant', model: 'test', content },
  ...{ stop_reason: stop, stop_sequence: null },
});

export const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

const piece = (index: number, delta: object) => event('content_block_delta', { index, delta });

function blockFrames(block: Readonly<Record<string, unknown>>, index: number): readonly string[] {
  const begin = (content_block: object) => event('content_block_start', { index, content_block });
  const end = event('content_block_stop', { index });
  if (block['type'] === 'thinking') {
    const [thinking, signature] = [String(block['thinking']), String(block['signature'])];
    return [
      begin({ type: 'thinking', thinking: '', signature: '' }),
      ...[thinking.slice(0, 9), thinking.slice(9)].map((part) =>
        piece(index, { type: 'thinking_delta', thinking: part }),
      ),
      piece(index, { type: 'signature_delta', signature }),
      end,
    ];
  }
  if (block['type'] === 'text')
    return [
      begin({ type: 'text', text: '' }),
      ...[...String(block['text'])].map((text) => piece(index, { type: 'text_delta', text })),
      end,
    ];
  const json = JSON.stringify(block['input']);
  return [
    begin({ ...block, input: {} }),
    ...['', json.slice(0, 5), json.slice(5)].map((part) =>
      piece(index, { type: 'input_json_delta', partial_json: part }),
    ),
    end,
  ];
}

/** An answer of its own id and count of tokens. */
export const anthropicAnswer = (id: string, counts: typeof usage): Pick<Wire, 'whole' | 'frames'> => ({
  whole: (said) => JSON.stringify({ ...message(blocksOf(said), stopOf(said), id), usage: counts }),
  frames: (said) => [
    event('message_start', { message: { ...message([], null, id), usage: { ...counts, output_tokens: 1 } } }),
    event('ping', {}),
    ...blocksOf(said).flatMap(blockFrames),
    event('message_delta', {
      delta: { stop_reason: stopOf(said), stop_sequence: null },
      usage: { output_tokens: counts.output_tokens },
    }),
    event('message_stop', {}),
  ],
});

export const ANTHROPIC: Wire = {
  path: '/v1/messages',
  streamType: 'text/event-stream',
  isStreamed: (body) => body['stream'] === true,
  ...anthropicAnswer('msg_1', usage),
  ending: 2,
  failure: (text) => event('error', { error: { type: 'overloaded_error', message: text } }),
  refusal: (text) => JSON.stringify({ type: 'error', error: { type: 'x', message: text }, request_id: 'req_1' }),
  formIn: (body) => Object(Object(body['output_config']).format).schema ?? jsonToolOf(body['tools']),
};

/** Models without structured outputs are given the schema as a tool. */
function jsonToolOf(tools: unknown): unknown {
  const all: unknown[] = Array.isArray(tools) ? tools : [];
  return Object(all.find((tool) => Object(tool).name === 'json')).input_schema;
}
