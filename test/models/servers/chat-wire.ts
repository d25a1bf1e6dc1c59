import type { Said, Wire } from './wire.js';

/** `POST /v1/chat/completions`, as OpenAI and many others speak it. */

const usage = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4 },
};

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

const chunk = (choices: readonly object[], rest: object = {}) =>
  data({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'test', choices, ...rest });

const delta = (part: object) => chunk([{ index: 0, delta: part, finish_reason: null }]);

/** As OpenRouter and others say it. */
const thought = ({ reasoning }: Said) =>
  reasoning === undefined ? {} : { reasoning, reasoning_details: [{ type: 'reasoning.encrypted', data: reasoning }] };

const reason = ({ calls = [] }: Said) => (calls.length > 0 ? 'tool_calls' : 'stop');

/** The id and the name of a call come first, its arguments in pieces. */
const callDeltas = ({ calls = [] }: Said) =>
  calls.flatMap(({ id, name, args }, index) => {
    const text = JSON.stringify(args);
    return [
      delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...[text.slice(0, 5), text.slice(5)].map((part) =>
        delta({ tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ];
  });

export const CHAT: Wire = {
  path: '/v1/chat/completions',
  streamType: 'text/event-stream',
  isStreamed: (body) => body['stream'] === true,
  whole: (said) =>
    JSON.stringify({
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'test', usage },
      choices: [
        {
          index: 0,
          finish_reason: reason(said),
          message: {
            role: 'assistant',
            content: said.text ?? null,
            ...thought(said),
            ...(said.calls === undefined
              ? {}
              : {
                  tool_calls: said.calls.map(({ id, name, args }) => ({
                    ...{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
                  })),
                }),
          },
        },
      ],
    }),
  frames: (said) => [
    delta({ role: 'assistant', content: '' }),
    ...(said.reasoning === undefined ? [] : [delta(thought(said))]),
    ...[...(said.text ?? '')].map((content) => delta({ content })),
    ...callDeltas(said),
    chunk([{ index: 0, delta: {}, finish_reason: reason(said) }]),
    chunk([], { usage }),
    'data: [DONE]\n\n',
  ],
  ending: 3,
  failure: (message) => data({ error: { message, type: 'server_error', code: 'server_error' } }),
  refusal: (message) => JSON.stringify({ error: { message, type: 'x', code: null } }),
  formIn: (body) => Object(Object(body['response_format']).json_schema).schema,
};
