import { UserError } from '@openai/agents';

/** Standard base64 with its padding, as Go's decoder on the other side wants it. A group that repeats overflows on large images. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DATA_URL = /^data:(?:(?:image|audio)\/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,/i;

/**
 * The base64 of an image or a sound, as Ollama takes it: from a data URL, bare base64 or bytes. Throws a UserError that
 * names the part for everything else; an address is not fetched here, because reading the network needs a capability.
 */
export function mediaBase64(value: unknown, part: string): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value !== 'string') {
    throw new UserError(`${part}: Ollama takes the data itself, not a reference to an uploaded file.`);
  }
  if (/^https?:\/\//i.test(value)) {
    throw new UserError(`${part}: Ollama takes no addresses; fetch the data first and give it as a data URL.`);
  }
  const data = value.replace(DATA_URL, '').replace(/\s+/g, '');
  if (data.length % 4 !== 0 || !BASE64.test(data)) {
    throw new UserError(`${part}: not the base64 of an image or a sound, nor a data URL with it.`);
  }
  return data;
}
