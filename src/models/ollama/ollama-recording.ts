import { z } from 'zod';
import { jsonObject } from '../../core/json.js';
import { badCassette, type Cassette } from '../cassettes/cassette.js';
import { recordingFetch } from '../cassettes/cassette-recorder.js';
import type { OllamaModelOptions } from './ollama-model.js';

/** The options that shape what is sent and how it is read: those that a recording is played with. */
const shaping = z.object({
  numCtx: z.number().optional(),
  keepAlive: z.union([z.number(), z.string()]).optional(),
  think: z.union([z.boolean(), z.string()]).optional(),
  options: jsonObject.optional(),
  toolImages: z.enum(['tool', 'user']).optional(),
  extractThinking: z.boolean().optional(),
});

/** How the requests of a model leave: recorded, if its options say so. */
export function ollamaRecording({ fetch: send, recordTo, ...options }: OllamaModelOptions): typeof fetch | undefined {
  if (recordTo === undefined) return send;
  const settings = jsonObject.parse(JSON.parse(JSON.stringify(shaping.parse(options))));
  return recordingFetch({ directory: recordTo, settings }, send);
}

/** The options of the model that was recorded. Throws `cassette_invalid`. */
export function ollamaRecorded({ name, head }: Cassette): OllamaModelOptions {
  const parsed = shaping.safeParse(head.settings);
  if (!parsed.success)
    throw badCassette(`The settings of the cassette "${name}" are none of an Ollama model.`, parsed.error);
  const set = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}
