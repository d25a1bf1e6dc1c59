import { z } from 'zod';
import type { Quirks } from '../../core/models/model-provider-table.js';
import type { Dialect } from '../dialects/dialect.js';
import { dialectNamed } from '../dialects/dialect-of.js';
import { badCassette, type Cassette } from './cassette.js';
import { recordingFetch } from './cassette-recorder.js';

/** Addresses at which the SDK asks in another way than elsewhere. */
const OFFICIAL = 'https://api.openai.com/v1';

/** What shapes the requests to an API of OpenAI's form. */
const shaping = z.strictObject({
  official: z.boolean(),
  /** Recordings of builds that had no dialects do not name one. */
  dialect: z.string().optional(),
  quirks: z.strictObject({
    maxTokens: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
    structuredOutput: z.enum(['json_schema', 'json_object', 'prompt']).optional(),
    callIds: z.enum(['word', 'nine']).optional(),
    omit: z.array(z.string()).optional(),
  }),
});

export function openaiRecording(
  directory: string,
  { address, quirks, dialect }: { readonly address: string; readonly quirks: Quirks; readonly dialect: Dialect | null },
  send: typeof fetch | null,
) {
  const official = new URL(address).host === new URL(OFFICIAL).host;
  const shaped = { official, quirks, ...(dialect === null ? {} : { dialect: dialect.name }) };
  const settings = z.json().pipe(z.record(z.string(), z.json())).parse(shaped);
  return recordingFetch({ directory, settings }, send ?? fetch);
}

/** Where and how the model was asked that was recorded; no one is asked there now. Throws `cassette_invalid`. */
export function openaiRecorded({ name, head }: Cassette): {
  readonly options: { readonly baseURL: string; readonly quirks: Quirks };
  readonly dialect: Dialect | null;
} {
  const parsed = shaping.safeParse(head.settings);
  if (!parsed.success) throw badCassette(`The settings of the cassette "${name}" are none of its API.`, parsed.error);
  const { official, quirks, dialect: named } = parsed.data;
  const dialect = named === undefined ? null : dialectNamed(named);
  if (named !== undefined && dialect === null)
    throw badCassette(`The cassette "${name}" is of the dialect "${named}", which this build does not know.`);
  const { maxTokens, structuredOutput, callIds, omit } = quirks;
  const options = {
    baseURL: official ? OFFICIAL : 'http://cassette.invalid/v1',
    quirks: {
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(structuredOutput === undefined ? {} : { structuredOutput }),
      ...(callIds === undefined ? {} : { callIds }),
      ...(omit === undefined ? {} : { omit }),
    },
  };
  return { options, dialect };
}
