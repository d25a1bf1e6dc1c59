import { UserError } from '@openai/agents';

/** What standard base64 never holds. An expression that has to match a whole image overflows the stack. */
const FOREIGN = /[^A-Za-z0-9+/]/;
const DATA_URL = /^data:(?:(?:image|audio)\/[\w.+-]{1,100})?(?:;[\w.=+-]{1,100}){0,10};base64,/i;

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
  if (!isBase64(data)) {
    throw new UserError(`${part}: not the base64 of an image or a sound, nor a data URL with it.`);
  }
  return data;
}

/** Standard base64 with its padding, as Go's decoder on the other side wants it. */
function isBase64(data: string): boolean {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return data.length > padding && data.length % 4 === 0 && !FOREIGN.test(data.slice(0, data.length - padding));
}
