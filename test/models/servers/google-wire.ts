import type { Said, Wire } from './wire.js';

/** `generateContent` and `streamGenerateContent` of Gemini, as its documentation shows them. */

const usageMetadata = {
  promptTokenCount: 11,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 18,
};

export const THOUGHT = 'The user asks about the weather.';

/** Of parallel calls only the first has a signature; an answer without calls has it on its last part. */
export function partsOf({ reasoning, text, calls = [] }: Said): readonly object[] {
  const signed = reasoning === undefined ? {} : { thoughtSignature: reasoning };
  return [
    ...(reasoning === undefined ? [] : [{ text: THOUGHT, thought: true }]),
    ...(text === undefined ? [] : [{ text, ...(calls.length === 0 ? signed : {}) }]),
    ...calls.map(({ id, name, args }, index) => ({
      functionCall: { ...(id === '' ? {} : { id }), name, args },
      ...(index === 0 ? signed : {}),
    })),
  ];
}

const piecesOf = (said: Said): readonly (readonly object[])[] =>
  partsOf(said).flatMap((part) => {
    if (!('text' in part) || 'thought' in part) return [[part]];
    const { text, ...signed } = part;
    return [
      ...[...String(text)].map((one) => [{ text: one }]),
      ...('thoughtSignature' in signed ? [[{ text: '', ...signed }]] : []),
    ];
  });

const content = (parts: readonly object[]) => ({ content: { role: 'model', parts }, index: 0 });
const data = (value: object) => `data: ${JSON.stringify(value)}\r\n\r\n`;

/** An answer of its own id and count of tokens. */
export function googleAnswer(responseId: string, counts: typeof usageMetadata): Pick<Wire, 'whole' | 'frames'> {
  const rest = { usageMetadata: counts, modelVersion: 'test', responseId };
  return {
    whole: (said) => JSON.stringify({ candidates: [{ ...content(partsOf(said)), finishReason: 'STOP' }], ...rest }),
    frames: (said) => [
      ...piecesOf(said).map((parts) => data({ candidates: [content(parts)], modelVersion: 'test', responseId })),
      data({ candidates: [{ ...content([]), finishReason: 'STOP' }], ...rest }),
    ],
  };
}

export const GOOGLE: Wire = {
  path: '/v1beta/models/test:generateContent',
  streamPath: '/v1beta/models/test:streamGenerateContent?alt=sse',
  streamType: 'text/event-stream',
  isStreamed: (_body, path) => path.includes(':streamGenerateContent'),
  ...googleAnswer('resp_1', usageMetadata),
  ending: 1,
  failure: (message) => data({ error: { code: 500, message, status: 'INTERNAL' } }),
  refusal: (message) => JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
  formIn: (body) => {
    const config = Object(body['generationConfig']);
    return config.responseJsonSchema ?? config.responseSchema;
  },
};
