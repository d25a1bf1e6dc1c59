import { anthropicAnswer, THOUGHT } from './anthropic-wire.js';
import { Complaint, objects, recordOf, type StrictTurn, strict } from './strict-server.js';
import type { Answerer } from './wire-server.js';

const FIELDS = new Set([
  ...['model', 'max_tokens', 'system', 'messages', 'tools', 'tool_choice', 'stream', 'thinking', 'cache_control'],
  ...['output_config', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'metadata'],
]);

/** The fields of each kind of block in a request. */
const BLOCKS: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'cache_control'],
  image: ['type', 'source', 'cache_control'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
};

export const signatureOf = (turn: number): string => `EqQBCgIYAhIM1gbcDa9GJwZA2b${turn}+/=`;

/** What a turn takes: 20 tokens that are new, 30 that were written to the cache, 40 that were read, and 50 of an answer. */
export const COUNTS = {
  ...{ input_tokens: 20, cache_creation_input_tokens: 30, cache_read_input_tokens: 40, output_tokens: 50 },
};

/**
 * A server that checks requests as Anthropic documents that it does: known fields, roles in turn, a result for each call at the
 * beginning of the next message, and each thought as it was given. It answers turn by turn.
 */
export const strictAnthropic = (turns: readonly StrictTurn[]): Answerer =>
  strict({
    turnOf: ({ messages }) => objects(messages).filter(({ role }) => role === 'assistant').length,
    check: ({ body, headers }) => {
      if (headers['anthropic-version'] === undefined) throw new Complaint('anthropic-version: header is required');
      const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
      if (unknown !== undefined) throw new Complaint(`${unknown}: Extra inputs are not permitted`);
      if (typeof body['max_tokens'] !== 'number') throw new Complaint('max_tokens: Field required');
      const { type, budget_tokens: budget } = recordOf(body['thinking']);
      if (type === 'enabled' && !(Number(budget) >= 1024 && Number(budget) < body['max_tokens']))
        throw new Complaint('`max_tokens` must be greater than `thinking.budget_tokens`');
      checkMessages(objects(body['messages']), type !== undefined, turns);
    },
    refusal: (message) => JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
    turns,
    answer: (_said, turn) => anthropicAnswer(`msg_${turn}`, COUNTS),
    reasoning: signatureOf,
    isStreamed: ({ body }) => body['stream'] === true,
  });

function checkMessages(
  messages: readonly Record<string, unknown>[],
  thinks: boolean,
  turns: readonly StrictTurn[],
): void {
  let open: readonly unknown[] = [];
  let turn = 0;
  for (const [index, message] of messages.entries()) {
    if (message['role'] !== (index % 2 === 0 ? 'user' : 'assistant'))
      throw new Complaint('messages: roles must alternate between "user" and "assistant"');
    const blocks = objects(message['content']);
    for (const block of blocks) checkBlock(block);
    if (message['role'] === 'assistant') {
      open = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
      const own = turns[turn]?.own ?? true;
      const [first] = blocks;
      if (thinks && own && first?.['type'] !== 'thinking')
        throw new Complaint(
          `messages.${index}.content.0.type: Expected \`thinking\`, but found \`${first?.['type']}\``,
        );
      if (own && thinks && (first?.['signature'] !== signatureOf(turn) || first['thinking'] !== THOUGHT))
        throw new Complaint(`messages.${index}.content.0: Invalid \`signature\` in \`thinking\` block`);
      turn++;
      continue;
    }
    const answered = blocks.slice(0, open.length).map((block) => block['tool_use_id']);
    if (JSON.stringify(answered) !== JSON.stringify(open))
      throw new Complaint(
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`,
      );
    open = [];
  }
}

function checkBlock(block: Readonly<Record<string, unknown>>): void {
  const known = BLOCKS[String(block['type'])];
  const unknown = Object.keys(block).find((name) => known?.includes(name) !== true);
  if (unknown !== undefined) throw new Complaint(`${block['type']}.${unknown}: Extra inputs are not permitted`);
  if (block['type'] === 'text' && block['text'] === '')
    throw new Complaint('messages: text content blocks must be non-empty');
  for (const id of [block['id'], block['tool_use_id']])
    if (typeof id === 'string' && !/^[a-zA-Z0-9_-]+$/.test(id))
      throw new Complaint("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
}
