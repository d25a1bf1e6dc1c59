import { isObject, type JsonObject, type JsonValue } from './json.js';

/** Content of the Agents SDK with the images that are in it: of what people say, and of what tools give. */

/** `url`: where the image is, or the image itself as a `data:` URL. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string };

/** The text of a content; of an image or a file, that there is one. */
export function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(partText).join('\n');
}

function partText(part: unknown): string {
  if (!isObject(part)) return '';
  if (typeof part['text'] === 'string') return part['text'];
  if (typeof part['refusal'] === 'string') return part['refusal'];
  return `[${String(part['type'] ?? '').replace(/^(in|out)put_/, '') || 'part'}]`;
}

/** The parts of a content that has an image which can be shown; null: its text says all. A file stays a text, such as `[file]`. */
export function partsOf(content: JsonValue | undefined): readonly ContentPart[] | null {
  const given = Array.isArray(content) ? content : content === undefined ? [] : [content];
  const parts = given.map(partOf);
  return parts.some(({ type }) => type === 'image') ? parts : null;
}

function partOf(part: JsonValue): ContentPart {
  const url = isObject(part) ? imageUrl(part) : null;
  return url === null ? { type: 'text', text: contentText([part]) } : { type: 'image', url };
}

/** As the Agents SDK reads an image. Null: it is none, or it is on a provider's side alone. */
function imageUrl(part: JsonObject): string | null {
  if (part['type'] !== 'image' && part['type'] !== 'input_image') return null;
  const { image, imageUrl: other, data } = part;
  const mediaType = textIn(part, 'mediaType') ?? textIn(part, 'mimeType');
  for (const source of [image, other]) if (typeof source === 'string' && isAddress(source)) return source;
  if (isObject(image)) {
    const address = textIn(image, 'url');
    if (address !== null && isAddress(address)) return address;
    return inline(image['data'], textIn(image, 'mediaType') ?? mediaType);
  }
  return inline(data ?? image, mediaType);
}

const textIn = (value: JsonObject, name: string): string | null => {
  const text = value[name];
  return typeof text === 'string' && text !== '' ? text : null;
};

const isAddress = (text: string): boolean => /^(https?:\/\/|data:image\/)/i.test(text);

const MEDIA_TYPE = /^image\/[a-z0-9.+-]{1,60}$/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function inline(data: JsonValue | undefined, mediaType: string | null): string | null {
  if (typeof data !== 'string' || !BASE64.test(data)) return null;
  const type = mediaType ?? 'image/png';
  return MEDIA_TYPE.test(type) ? `data:${type};base64,${data}` : null;
}

/** The bytes of an image that is a `data:` URL; null: it is an address. */
export function bytesOf(url: string): { readonly mediaType: string; readonly base64: string } | null {
  const [, mediaType, base64] = /^data:(image\/[^;,]+);base64,(.*)$/is.exec(url) ?? [];
  return mediaType === undefined || base64 === undefined ? null : { mediaType, base64 };
}
