import { chunk, lastChunk, toolCall } from './ollama-server.js';
import type { Said, Wire } from './wire.js';

const line = (value: object) => `${JSON.stringify(value)}\n`;

const frames = ({ reasoning, text = '', calls = [] }: Said) => [
  ...(reasoning === undefined ? [] : [line(chunk({ thinking: reasoning }))]),
  ...[...text].map((content) => line(chunk({ content }))),
  ...calls.map(({ id, name, args }) => line(chunk({ tool_calls: [toolCall(name, args, { id })] }))),
  line(lastChunk({ prompt_eval_cached_count: 4 })),
];

/** `POST /api/chat` of Ollama, which this model always wants streamed. */
export const OLLAMA: Wire = {
  path: '/api/chat',
  streamType: 'application/x-ndjson',
  isStreamed: () => true,
  whole: (said) => frames(said).join(''),
  frames,
  ending: 1,
  failure: (message) => line({ error: message }),
  refusal: (message) => JSON.stringify({ error: message }),
  formIn: (body) => body['format'],
};
