import type { ModelRequest } from '@openai/agents';

/** Few tokens are shorter, in any script. */
const BYTES_PER_TOKEN = 3;
/** What an image or another file that is sent along is taken for: its bytes say nothing. */
const FILE = 'x'.repeat(2000 * BYTES_PER_TOKEN);
const FILE_FIELDS: ReadonlySet<string> = new Set(['image', 'imageUrl', 'image_url', 'file', 'audio', 'data']);

/** How many tokens a request has, estimated from above: what is reserved for it. */
export function requestTokens({ systemInstructions, input, tools, handoffs, outputType }: ModelRequest): number {
  const text = JSON.stringify([systemInstructions, input, tools, handoffs, outputType], (field, value: unknown) =>
    typeof value === 'string' && value.length > FILE.length && FILE_FIELDS.has(field) ? FILE : value,
  );
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
