import { z } from 'zod';
import type { Quirks } from '../core/model-provider-table.js';
import { badCassette, type Cassette } from './cassette.js';
import { recordingFetch } from './cassette-recorder.js';

/** Addresses at which the SDK asks in another way than elsewhere. */
const OFFICIAL = 'https://api.openai.com/v1';

/** What shapes the requests to an API of OpenAI's form. */
const shaping = z.strictObject({
  official: z.boolean(),
  quirks: z.strictObject({
    maxTokens: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
    structuredOutput: z.enum(['json_schema', 'json_object', 'prompt']).optional(),
    callIds: z.enum(['word', 'nine']).optional(),
    omit: z.array(z.string()).optional(),
  }),
});

export function openaiRecording(directory: string, baseURL: string, quirks: Quirks, send: typeof fetch | null) {
  const official = new URL(baseURL).host === new URL(OFFICIAL).host;
  const settings = z.json().pipe(z.record(z.string(), z.json())).parse({ official, quirks });
  return recordingFetch({ directory, settings }, send ?? fetch);
}

/** Where and how the model was asked that was recorded; nobody is asked there now. Throws `cassette_invalid`. */
export function openaiRecorded({ name, head }: Cassette): { readonly baseURL: string; readonly quirks: Quirks } {
  const parsed = shaping.safeParse(head.settings);
  if (!parsed.success) throw badCassette(`The settings of the cassette "${name}" are none of its API.`, parsed.error);
  const { official, quirks } = parsed.data;
  const { maxTokens, structuredOutput, callIds, omit } = quirks;
  return {
    baseURL: official ? OFFICIAL : 'http://cassette.invalid/v1',
    quirks: {
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(structuredOutput === undefined ? {} : { structuredOutput }),
      ...(callIds === undefined ? {} : { callIds }),
      ...(omit === undefined ? {} : { omit }),
    },
  };
}
