import type { Said, Wire } from './wire.js';

/** `POST /v1/responses` of OpenAI. */

const usage = {
  input_tokens: 11,
  output_tokens: 7,
  total_tokens: 18,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens_details: { reasoning_tokens: 0 },
};

const outputOf = ({ reasoning, text, calls = [] }: Said): object[] => [
  ...(reasoning === undefined
    ? []
    : [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: reasoning, status: 'completed' }]),
  ...(text === undefined
    ? []
    : [
        {
          ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ]),
  ...calls.map(({ id, name, args }) => ({
    ...{ type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args) },
    status: 'completed',
  })),
];

const response = (output: readonly object[], status: string) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'test', status, output, usage },
});

const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

export const RESPONSES: Wire = {
  path: '/v1/responses',
  streamType: 'text/event-stream',
  isStreamed: (body) => body['stream'] === true,
  whole: (said) => JSON.stringify(response(outputOf(said), 'completed')),
  frames: (said) => [
    event('response.created', { response: response([], 'in_progress') }),
    ...[...(said.text ?? '')].map((delta) =>
      event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta }),
    ),
    ...(said.calls ?? []).flatMap(({ id, name, args }, output_index) => [
      event('response.output_item.added', {
        output_index,
        item: { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: '' },
      }),
      event('response.function_call_arguments.delta', {
        output_index,
        item_id: `fc_${id}`,
        delta: JSON.stringify(args),
      }),
    ]),
    event('response.completed', { response: response(outputOf(said), 'completed') }),
  ],
  ending: 1,
  failure: (message) => event('error', { code: 'server_error', message, param: null }),
  refusal: (message) => JSON.stringify({ error: { message, type: 'x', code: null } }),
  formIn: (body) => Object(Object(body['text']).format).schema,
};
