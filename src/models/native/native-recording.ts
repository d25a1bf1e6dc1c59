import { z } from 'zod';
import { badCassette, type Cassette } from '../cassettes/cassette.js';
import { recordingFetch } from '../cassettes/cassette-recorder.js';
import type { NativeApiOptions } from './native-options.js';

/** What shapes the requests to an API of its own. */
const shaping = z.strictObject({ cache: z.boolean() });

export function nativeRecording(
  directory: string,
  api: 'anthropic' | 'google',
  cache: boolean,
  send: typeof fetch | null,
): typeof fetch {
  return recordingFetch({ directory, settings: api === 'anthropic' ? { cache } : {} }, send ?? fetch);
}

/** Returns how the recorded model was asked, or null for a cassette of another API. Throws `cassette_invalid`. */
export function nativeRecorded({ name, head }: Cassette): NativeApiOptions | null {
  if (head.api === 'google') return { like: 'google-native', key: null };
  if (head.api !== 'anthropic') return null;
  const { data } = shaping.safeParse(head.settings);
  if (data === undefined) throw badCassette(`The settings of the cassette "${name}" are none of Anthropic's API.`);
  return { like: 'anthropic-native', key: null, cache: data.cache };
}
