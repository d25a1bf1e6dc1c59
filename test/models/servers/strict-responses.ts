import { Complaint, objects, recordOf, type StrictTurn, strict } from './strict-server.js';
import type { Said } from './wire.js';
import type { Answerer } from './wire-server.js';

export const encryptedOf = (turn: number): string => `gAAAAABo${turn}XyZ+/==`;

/** What a turn takes: 100 tokens of input, 40 of them cached, and 50 of an answer, 20 of them of thoughts. */
const USAGE = {
  ...{ input_tokens: 100, output_tokens: 50, total_tokens: 150 },
  input_tokens_details: { cached_tokens: 40 },
  output_tokens_details: { reasoning_tokens: 20 },
};

const SEARCH = { type: 'search', query: 'weather', queries: ['weather'] };

/** The items of a turn: a thought that only OpenAI can read, a search that OpenAI ran, words and calls. */
const itemsOf = ({ reasoning, text, calls = [] }: Said, turn: number): readonly object[] => [
  { type: 'reasoning', id: `rs_${turn}`, summary: [], encrypted_content: reasoning },
  { type: 'web_search_call', id: `ws_${turn}`, status: 'completed', action: SEARCH },
  ...(text === undefined
    ? []
    : [
        {
          ...{ type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed' },
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ]),
  ...calls.map(({ id, name, args }) => ({
    ...{ type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args) },
    status: 'completed',
  })),
];

const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

const answer = (_said: Said, turn: number) => {
  const response = (output: readonly object[], status: string) => ({
    ...{ id: `resp_${turn}`, object: 'response', created_at: 1, model: 'test', status, output, usage: USAGE },
  });
  return {
    whole: (said: Said) => JSON.stringify(response(itemsOf(said, turn), 'completed')),
    frames: (said: Said) => [
      event('response.created', { response: response([], 'in_progress') }),
      ...itemsOf(said, turn).map((item, output_index) => event('response.output_item.done', { output_index, item })),
      event('response.completed', { response: response(itemsOf(said, turn), 'completed') }),
    ],
  };
};

/**
 * A server that checks requests as OpenAI does where it keeps nothing: every item comes back in its place, thoughts as they were given,
 * each call with its result, and no request names an earlier response. It answers turn by turn.
 */
export const strictResponses = (turns: readonly StrictTurn[]): Answerer =>
  strict({
    turnOf: ({ input }) => objects(input).filter(({ type }) => type === 'reasoning').length,
    check: ({ body }) => {
      for (const name of ['previous_response_id', 'conversation'])
        if (body[name] !== undefined) throw new Complaint(`${name}: nothing is stored`);
      if (body['store'] !== false) throw new Complaint('store: expected false');
      const { include } = body;
      if (!Array.isArray(include) || !include.includes('reasoning.encrypted_content'))
        throw new Complaint('include: expected reasoning.encrypted_content');
      checkInput(objects(body['input']), turns);
    },
    refusal: (message) => JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } }),
    turns,
    answer,
    reasoning: encryptedOf,
    isStreamed: ({ body }) => body['stream'] === true,
  });

function checkInput(input: readonly Record<string, unknown>[], turns: readonly StrictTurn[]): void {
  const own = input.filter(({ type, role }) => type !== 'function_call_output' && role !== 'user');
  const given = turns.slice(0, own.filter(({ type }) => type === 'reasoning').length);
  const expected = given.flatMap(({ said }, turn) => itemsOf({ ...said, reasoning: encryptedOf(turn) }, turn));
  if (own.length !== expected.length)
    throw new Complaint(`input: expected ${expected.length} items of answers, and ${own.length} came`);
  for (const [index, item] of expected.entries()) checkItem(recordOf(item), recordOf(own[index]));
  const called = own.filter(({ type }) => type === 'function_call').map((item) => item['call_id']);
  const answered = input.filter(({ type }) => type === 'function_call_output').map((item) => item['call_id']);
  if (JSON.stringify(called) !== JSON.stringify(answered))
    throw new Complaint('No tool output found for function call');
}

function checkItem(expected: Readonly<Record<string, unknown>>, item: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(item).find((name) => !(name in expected));
  if (unknown !== undefined) throw new Complaint(`Unknown parameter: ${item['type']}.${unknown}`);
  for (const name of ['type', 'id', 'call_id', 'encrypted_content', 'action'])
    if (JSON.stringify(item[name]) !== JSON.stringify(expected[name]))
      throw new Complaint(`${expected['type']}.${name}: expected ${JSON.stringify(expected[name])}`);
}
